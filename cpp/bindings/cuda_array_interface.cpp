#include "bindings/cuda_array_interface.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/array_type.h"
#include "bindings/errors.h"
#include "bindings/foreign_array.h"
#include "bindings/gil.h"
#include "bindings/shape.h"
#include "runtime/error.h"
#include "tensor/cuda_driver.h"
#include "tensor/device_buffer.h"
#include "tensor/layout.h"
#include "tensor/transfer.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

constexpr const char* interface_name = "__cuda_array_interface__";

/// The order of the bytes of a single one means nothing. Every machine is little-endian that has such a GPU and Triton.
DataType data_type_of(const std::string& name) {
    if (name.size() == 3) {
        const auto size = static_cast<std::size_t>(name[2] - '0');
        const DataType data_type = data_type_of_array(name[1], size);
        if (data_type != TRITONSERVER_TYPE_INVALID && (size == 1 || name[0] == '<')) {
            return data_type;
        }
    }
    throw nb::type_error(("typestr '" + name + "' of " + interface_name + " has no Triton data type").c_str());
}

nb::object item(const nb::dict& interface, const char* key) {
    if (!interface.contains(key)) {
        throw nb::value_error((std::string(interface_name) + " must have '" + key + "'").c_str());
    }
    return interface[key];
}

nb::object optional_item(const nb::dict& interface, const char* key) {
    return interface.contains(key) ? nb::object(interface[key]) : nb::object(nb::none());
}

std::vector<std::int64_t> integers(const std::string& argument, nb::handle values) {
    if (PyTuple_Check(values.ptr()) == 0) {
        wrong_type(argument, "a tuple of ints", values);
    }
    std::vector<std::int64_t> result;
    for (const nb::handle value : nb::borrow<nb::tuple>(values)) {
        result.push_back(integer_argument("each number of " + argument, value));
    }
    return result;
}

/// Strides may be None, which means C order.
Layout layout_of(std::vector<std::int64_t> shape, nb::handle strides, DataType data_type) {
    Layout layout = Layout::c_order(std::move(shape), element_size(data_type));
    if (!strides.is_none()) {
        layout.strides = integers("strides", strides);
        if (layout.strides.size() != layout.shape.size()) {
            throw nb::value_error("strides must be as many as the dimensions of shape");
        }
    }
    return layout;
}

/// The stream whose work comes before the array may be read, as a handle; null if there is none to wait for.
CUstream stream_of(const nb::dict& interface, std::int64_t version) {
    const nb::object stream = optional_item(interface, "stream");
    if (stream.is_none()) {
        // Before version 3 nobody said which stream it is.
        return version < 3 ? reinterpret_cast<CUstream>(CU_STREAM_LEGACY) : nullptr;
    }
    const std::int64_t number = integer_argument("stream", stream);
    if (number <= 0) {
        throw nb::value_error(("stream must be None, 1 (the legacy default stream), 2 (the per-thread one) or a "
                               "stream's handle, not " +
                               std::to_string(number))
                                  .c_str());
    }
    return reinterpret_cast<CUstream>(number);
}

struct Location {
    MemoryPlace place;
    std::int64_t device;  ///< The GPU whose memory it is, or which the host's memory was pinned for.
};

/// Where the memory at the address lies: the interface does not say which GPU has it.
Location locate(std::uintptr_t address) {
    if (address == 0) {
        return {{TRITONSERVER_MEMORY_GPU, 0}, 0};  // it is empty
    }
    const ReleaseGil released;
    const CudaDriver& driver = CudaDriver::instance();
    unsigned memory_type = 0;
    driver.check(driver.functions().cuPointerGetAttribute(&memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
                 "asking what kind of memory the GPU array lies in");
    int device = 0;
    driver.check(driver.functions().cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
                 "asking which GPU's memory the GPU array lies in");
    if (memory_type == CU_MEMORYTYPE_HOST) {
        return {{TRITONSERVER_MEMORY_CPU_PINNED, 0}, device};
    }
    return {{TRITONSERVER_MEMORY_GPU, device}, device};
}

Tensor import_array(const nb::object& array, std::optional<bool> copy) {
    const nb::object value = nb::getattr(array, interface_name);
    if (PyDict_Check(value.ptr()) == 0) {
        wrong_type(interface_name, "a dict", value);
    }
    const auto interface = nb::borrow<nb::dict>(value);
    const std::int64_t version = integer_argument("version", item(interface, "version"));
    if (version < 2) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED, std::string(interface_name) + " is of version " +
                                                        std::to_string(version) + ", supported are 2 and 3");
    }
    if (!optional_item(interface, "mask").is_none()) {
        throw nb::type_error("a masked array cannot be a tensor, its mask would be lost");
    }
    const DataType data_type = data_type_of(text_argument("typestr", item(interface, "typestr")));
    Layout layout =
        layout_of(integers("shape", item(interface, "shape")), optional_item(interface, "strides"), data_type);
    const std::size_t byte_size = layout.byte_size();
    const nb::object data = item(interface, "data");
    if (PyTuple_Check(data.ptr()) == 0 || nb::len(data) != 2) {
        wrong_type("data", "a pair of an address and a bool", data);
    }
    const std::uintptr_t address = unsigned_argument("data[0]", nb::object(data[0]), UINT64_MAX);
    bool_argument("data[1]", nb::object(data[1]));
    if (address == 0 && byte_size != 0) {
        throw nb::value_error(("data[0] is 0, but the array has " + std::to_string(byte_size) + " bytes").c_str());
    }
    CUstream const stream = stream_of(interface, version);
    const Location location = locate(byte_size != 0 ? address : 0);
    return import_foreign_array({"a GPU array", data_type, std::move(layout), reinterpret_cast<void*>(address),
                                 location.place, stream, location.device},
                                copy, array);
}

}  // namespace

nb::dict cuda_array_interface(const Tensor& tensor) {
    const Buffer& buffer = *tensor.buffer();
    if (buffer.memory_type() != TRITONSERVER_MEMORY_GPU) {
        throw nb::attribute_error("the tensor is not in GPU memory, so it has no __cuda_array_interface__");
    }
    const std::string name = array_type_name(tensor.data_type());
    if (name.empty()) {
        throw nb::attribute_error(
            (std::string(interface_name) + " has no type for " + data_type_name(tensor.data_type())).c_str());
    }
    lend(buffer);
    nb::dict interface;
    interface["shape"] = shape_tuple(tensor.shape());
    interface["typestr"] = name;
    interface["data"] =
        nb::make_tuple(buffer.byte_size() != 0 ? reinterpret_cast<std::uintptr_t>(buffer.data()) : std::uintptr_t{0},
                       buffer.read_only());
    interface["strides"] = nb::none();
    // What this project writes is complete; a caller's own memory may have work on the default stream.
    interface["stream"] = CU_STREAM_LEGACY;
    interface["version"] = 3;
    return interface;
}

void register_cuda_array_interface(nb::module_& module) {
    using namespace nb::literals;
    module.def("import_cuda_array", &import_array, "array"_a, "copy"_a.none(),
               nb::sig("def import_cuda_array(array: typing.Any, copy: bool | None) -> Tensor"),
               "A tensor over the GPU memory of an object that has a __cuda_array_interface__. Its stream is waited "
               "for.");
}

}  // namespace triton_inprocess
