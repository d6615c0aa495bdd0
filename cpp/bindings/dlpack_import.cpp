#include "bindings/dlpack_import.h"

#include <nanobind/stl/pair.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings/dlpack_device.h"
#include "bindings/errors.h"
#include "bindings/foreign_array.h"
#include "runtime/error.h"
#include "tensor/dlpack.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using dlpack::legacy_name;
using dlpack::versioned_name;

constexpr const char* owner_name = "triton_inprocess.dlpack";

/// Throws what tells the user that the capsule cannot be consumed.
[[noreturn]] void refuse_capsule(PyObject* capsule) {
    const char* const name = PyCapsule_GetName(capsule);
    const std::string found = name == nullptr ? "without a name" : "'" + std::string(name) + "'";
    const bool used = found.find("used_dltensor") != std::string::npos;
    throw nb::value_error(("a DLPack capsule must be named 'dltensor' or 'dltensor_versioned', not " + found +
                           (used ? ": it has been consumed, and can be so only once" : ""))
                              .c_str());
}

/// Takes the managed tensor out of its capsule, which is renamed as DLPack wants it; the result owns it.
template <typename Managed>
nb::object take(PyObject* capsule, Managed* managed, const char* used_name) {
    PyObject* const owner = PyCapsule_New(managed, owner_name, nullptr);
    if (owner == nullptr) {
        throw nb::python_error();
    }
    nb::object result = nb::steal(owner);
    if (PyCapsule_SetName(capsule, used_name) != 0) {
        throw nb::python_error();
    }
    PyCapsule_SetDestructor(owner, [](PyObject* dropped) {
        auto* const tensor = static_cast<Managed*>(PyCapsule_GetPointer(dropped, owner_name));
        if (tensor->deleter != nullptr) {
            tensor->deleter(tensor);
        }
    });
    return result;
}

struct Imported {
    dlpack::TensorView view;
    nb::object owner;
};

Imported consume(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, versioned_name) != 0) {
        auto* const managed = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, versioned_name));
        if (managed->version.major > dlpack::major_version) {
            // Nothing but the version can be read; the capsule stays its producer's, who frees it.
            throw nb::buffer_error(("the DLPack capsule is of version " + std::to_string(managed->version.major) +
                                    ", expected at most " + std::to_string(dlpack::major_version))
                                       .c_str());
        }
        return {managed->tensor, take(capsule, managed, "used_dltensor_versioned")};
    }
    if (PyCapsule_IsValid(capsule, legacy_name) != 0) {
        auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, legacy_name));
        return {managed->tensor, take(capsule, managed, "used_dltensor")};
    }
    refuse_capsule(capsule);
}

/// Whether a call failed because the producer has no parameter `max_version`, which came with DLPack 1.0.
bool is_about_arguments(const nb::python_error& error) {
    return error.matches(PyExc_TypeError) && text_of(error.value()).find("argument") != std::string::npos;
}

/// The capsule of a producer, who may be older than `max_version`. Of a GPU's memory, the producer is told the stream
/// that will find it written.
nb::object request_capsule(nb::handle producer, dlpack::Device device) {
    const nb::object method = producer.attr("__dlpack__");
    nb::dict arguments;
    if (device.device_type == dlpack::device_cuda) {
        arguments["stream"] = consumer_stream;
    }
    auto all = nb::borrow<nb::dict>(arguments.attr("copy")());
    all["max_version"] = nb::make_tuple(dlpack::major_version, dlpack::minor_version);
    try {
        return method(**all);
    } catch (nb::python_error& error) {
        if (!is_about_arguments(error)) {
            throw;
        }
    }
    return method(**arguments);
}

dlpack::Device device_of(nb::handle producer) {
    for (const char* const method : {"__dlpack__", "__dlpack_device__"}) {
        if (!nb::hasattr(producer, method)) {
            throw nb::type_error(
                ("a " + text_of(producer.type().attr("__name__")) + " is no DLPack tensor: it has no method " + method)
                    .c_str());
        }
    }
    const nb::object returned = producer.attr("__dlpack_device__")();
    std::pair<std::int32_t, std::int32_t> device;
    if (!nb::try_cast(returned, device)) {
        throw nb::type_error(("__dlpack_device__ of a " + text_of(producer.type().attr("__name__")) +
                              " must return a pair of ints of 32 bits, not " + text_of(nb::repr(returned)))
                                 .c_str());
    }
    return {device.first, device.second};
}

DataType checked_type(dlpack::Type type) {
    const DataType data_type = dlpack::data_type_of(type);
    if (data_type == TRITONSERVER_TYPE_INVALID) {
        const bool bits = type.bits == 8 && type.lanes == 1;
        throw nb::type_error(("a DLPack tensor of " + dlpack::type_text(type) + " has no Triton data type" +
                              (bits ? "; send the bits as UINT8: tensor.view(uint8)" : ""))
                                 .c_str());
    }
    return data_type;
}

}  // namespace

Tensor import_dlpack(nb::handle value, std::optional<bool> copy) {
    nb::object capsule = nb::borrow(value);
    if (PyCapsule_CheckExact(value.ptr()) == 0) {
        const dlpack::Device device = device_of(value);
        place_of(device);  // refuses what cannot be read before anybody makes a capsule
        capsule = request_capsule(value, device);
        if (PyCapsule_CheckExact(capsule.ptr()) == 0) {
            throw nb::type_error("__dlpack__ returned what is no capsule");
        }
    }
    const Imported imported = consume(capsule.ptr());
    const dlpack::TensorView& view = imported.view;
    const MemoryPlace place = place_of(view.device);
    const DataType data_type = checked_type(view.dtype);
    const Layout layout = dlpack::layout_of(view, element_size(data_type));
    const std::size_t byte_size = layout.byte_size();
    if (view.data == nullptr && byte_size != 0) {
        throw Error(
            TRITONSERVER_ERROR_INVALID_ARG,
            "a DLPack tensor of shape " + shape_text(layout.shape.data(), layout.shape.size()) + " has no memory");
    }
    char* const data = view.data == nullptr ? nullptr : static_cast<char*>(view.data) + view.byte_offset;
    auto* const stream = place.memory_type == TRITONSERVER_MEMORY_GPU
                             ? reinterpret_cast<CUstream>(std::uintptr_t{consumer_stream})
                             : nullptr;
    return import_foreign_array({"a DLPack tensor", data_type, layout, data, place, stream, place.memory_type_id}, copy,
                                imported.owner);
}

}  // namespace triton_inprocess
