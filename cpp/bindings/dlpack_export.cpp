#include "bindings/dlpack_export.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/copies.h"
#include "bindings/dlpack_device.h"
#include "tensor/dlpack.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

dlpack::Type type_of(DataType data_type) {
    if (data_type == TRITONSERVER_TYPE_BYTES) {
        throw nb::buffer_error("DLPack has no type for BYTES: use to_bytes_array() or to_string_array()");
    }
    return dlpack::type_of(data_type);
}

/// What a capsule points to: the managed struct, and what its pointers refer to.
template <typename ManagedStruct>
struct Export {
    ManagedStruct managed = {};
    std::vector<std::int64_t> shape_and_strides;
    Ref<Buffer> buffer;
};

template <typename ManagedStruct>
std::unique_ptr<Export<ManagedStruct>> make_export(const Tensor& tensor, Ref<Buffer> buffer) {
    auto result = std::make_unique<Export<ManagedStruct>>();
    const std::size_t rank = tensor.shape().size();
    result->shape_and_strides.resize(2 * rank);
    std::int64_t* const shape = result->shape_and_strides.data();
    std::int64_t* const strides = shape + rank;
    std::uint64_t stride = 1;  // unsigned: without elements it may wrap around, and means nothing
    for (std::size_t i = rank; i-- > 0;) {
        shape[i] = tensor.shape()[i];
        strides[i] = static_cast<std::int64_t>(stride);
        stride *= static_cast<std::uint64_t>(shape[i]);
    }
    result->managed.tensor = {buffer->data(),
                              device_of(*buffer),
                              static_cast<std::int32_t>(rank),
                              type_of(tensor.data_type()),
                              shape,
                              strides,
                              0};
    result->managed.manager = result.get();
    // No Python in here: a consumer may call it on any thread, without the GIL.
    result->managed.deleter = [](ManagedStruct* managed) {
        std::unique_ptr<Export<ManagedStruct>>(static_cast<Export<ManagedStruct>*>(managed->manager));
    };
    result->buffer = std::move(buffer);
    return result;
}

template <typename ManagedStruct>
nb::object make_capsule(std::unique_ptr<Export<ManagedStruct>> exported, const char* name,
                        PyCapsule_Destructor destructor) {
    PyObject* const capsule = PyCapsule_New(&exported->managed, name, destructor);
    if (capsule == nullptr) {
        throw nb::python_error();
    }
    static_cast<void>(exported.release());
    return nb::steal(capsule);
}

/// The major version of DLPack that the consumer knows at most; None is that of the time before versions.
std::int64_t major_version_argument(const nb::object& max_version) {
    if (max_version.is_none()) {
        return 0;
    }
    if (PyTuple_Check(max_version.ptr()) == 0 || nb::len(max_version) != 2) {
        wrong_type("max_version", "None or a pair of ints", max_version);
    }
    return integer_argument("max_version[0]", nb::object(max_version[0]));
}

using dlpack::legacy_name;
using dlpack::versioned_name;

/// Frees what no consumer has taken: taking a capsule renames it.
template <typename ManagedStruct>
void free_unconsumed(PyObject* capsule, const char* name) {
    if (PyCapsule_IsValid(capsule, name) != 0) {
        auto* managed = static_cast<ManagedStruct*>(PyCapsule_GetPointer(capsule, name));
        managed->deleter(managed);
    }
}

}  // namespace

nb::object export_dlpack(const Tensor& tensor, const nb::object& stream, const nb::object& max_version,
                         const nb::object& dl_device, const nb::object& copy) {
    Ref<Buffer> buffer = tensor.buffer();
    const std::optional<CUstream> consumer = stream_argument(*buffer, stream);
    const MemoryPlace place = requested_place(*buffer, dl_device);
    type_of(tensor.data_type());
    const bool there = is_at(*buffer, place);
    const std::optional<bool> wanted = copy.is_none() ? std::nullopt : std::optional(bool_argument("copy", copy));
    if (!there && !wanted.value_or(true)) {
        throw nb::buffer_error("the tensor is not on the requested device, and copy is False");
    }
    const bool is_copy = !there || wanted.value_or(false);
    if (is_copy) {
        buffer = copied(*buffer, place);
    }
    give_to_stream(*buffer, consumer);
    const bool read_only = buffer->read_only();
    const bool versioned = major_version_argument(max_version) >= 1;
    if (versioned) {
        auto exported = make_export<dlpack::ManagedVersioned>(tensor, std::move(buffer));
        exported->managed.version = {dlpack::major_version, dlpack::minor_version};
        exported->managed.flags = (read_only ? dlpack::flag_read_only : 0) | (is_copy ? dlpack::flag_is_copied : 0);
        return make_capsule(std::move(exported), versioned_name, [](PyObject* capsule) {
            free_unconsumed<dlpack::ManagedVersioned>(capsule, versioned_name);
        });
    }
    if (read_only) {
        throw nb::buffer_error("the memory is read-only, which a consumer of DLPack before 1.0 cannot be told");
    }
    return make_capsule(make_export<dlpack::Managed>(tensor, std::move(buffer)), legacy_name,
                        [](PyObject* capsule) { free_unconsumed<dlpack::Managed>(capsule, legacy_name); });
}

nb::tuple dlpack_device(const Tensor& tensor) {
    const dlpack::Device device = device_of(*tensor.buffer());
    return nb::make_tuple(device.device_type, device.device_id);
}

}  // namespace triton_inprocess
