#include "bindings/numpy.h"

#include <nanobind/ndarray.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings/cached_attribute.h"
#include "bindings/python_buffer.h"
#include "runtime/error.h"
#include "tensor/bytes_codec.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using dtype_code = nb::dlpack::dtype_code;

// What every numpy can do; beyond it, numpy 1 would make an array of another shape and nanobind end the process.
constexpr std::size_t most_dimensions = 32;

CachedAttribute array_type("numpy", "ndarray");
CachedAttribute general_conversion("triton_inprocess._convert", "to_tensor");

DataType data_type_of(nb::dlpack::dtype dtype) noexcept {
    if (dtype.lanes != 1) {
        return TRITONSERVER_TYPE_INVALID;
    }
    switch (static_cast<dtype_code>(dtype.code)) {
        case dtype_code::Bool:
            return dtype.bits == 8 ? TRITONSERVER_TYPE_BOOL : TRITONSERVER_TYPE_INVALID;
        case dtype_code::Int:
            switch (dtype.bits) {
                case 8:
                    return TRITONSERVER_TYPE_INT8;
                case 16:
                    return TRITONSERVER_TYPE_INT16;
                case 32:
                    return TRITONSERVER_TYPE_INT32;
                case 64:
                    return TRITONSERVER_TYPE_INT64;
                default:
                    return TRITONSERVER_TYPE_INVALID;
            }
        case dtype_code::UInt:
            switch (dtype.bits) {
                case 8:
                    return TRITONSERVER_TYPE_UINT8;
                case 16:
                    return TRITONSERVER_TYPE_UINT16;
                case 32:
                    return TRITONSERVER_TYPE_UINT32;
                case 64:
                    return TRITONSERVER_TYPE_UINT64;
                default:
                    return TRITONSERVER_TYPE_INVALID;
            }
        case dtype_code::Float:
            switch (dtype.bits) {
                case 16:
                    return TRITONSERVER_TYPE_FP16;
                case 32:
                    return TRITONSERVER_TYPE_FP32;
                case 64:
                    return TRITONSERVER_TYPE_FP64;
                default:
                    return TRITONSERVER_TYPE_INVALID;
            }
        default:
            return TRITONSERVER_TYPE_INVALID;
    }
}

// The layout-compatible type that numpy itself has.
nb::dlpack::dtype storage_type(DataType data_type) {
    const auto make = [](dtype_code code, std::size_t size) {
        return nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size), 1};
    };
    const std::size_t size = element_size(data_type);
    switch (data_type) {
        case TRITONSERVER_TYPE_BOOL:
            return make(dtype_code::Bool, size);
        case TRITONSERVER_TYPE_UINT8:
        case TRITONSERVER_TYPE_UINT16:
        case TRITONSERVER_TYPE_UINT32:
        case TRITONSERVER_TYPE_UINT64:
        case TRITONSERVER_TYPE_BF16:
            return make(dtype_code::UInt, size);
        case TRITONSERVER_TYPE_INT8:
        case TRITONSERVER_TYPE_INT16:
        case TRITONSERVER_TYPE_INT32:
        case TRITONSERVER_TYPE_INT64:
            return make(dtype_code::Int, size);
        case TRITONSERVER_TYPE_FP16:
        case TRITONSERVER_TYPE_FP32:
        case TRITONSERVER_TYPE_FP64:
            return make(dtype_code::Float, size);
        case TRITONSERVER_TYPE_BYTES:
        case TRITONSERVER_TYPE_INVALID:
            break;
    }
    throw Error(TRITONSERVER_ERROR_INTERNAL, std::string("no numeric storage for ") + data_type_name(data_type));
}

bool c_contiguous(const nb::ndarray<nb::ro>& array) {
    if (array.size() == 0) {
        return true;
    }
    std::int64_t expected = 1;
    for (std::size_t i = array.ndim(); i-- > 0;) {
        // The stride of a dimension of size 1 means nothing.
        if (array.shape(i) != 1 && array.stride(i) != expected) {
            return false;
        }
        expected *= static_cast<std::int64_t>(array.shape(i));
    }
    return true;
}

nb::object bytes_array(const Tensor& tensor) {
    const std::size_t count = tensor.element_count();
    nb::list items;
    for (const std::string_view& element : decode_bytes(tensor.buffer()->data(), tensor.buffer()->byte_size(), count)) {
        items.append(nb::bytes(element.data(), element.size()));
    }
    nb::object array = numpy().attr("empty")(count, nb::arg("dtype") = "O");
    array.attr("__setitem__")(nb::slice(nb::none(), nb::none(), nb::none()), items);
    nb::list shape;
    for (const std::int64_t dimension : tensor.shape()) {
        shape.append(dimension);
    }
    return array.attr("reshape")(shape);
}

/// What an array over the buffer keeps alive: the Python object that owns the memory, so that the garbage collector
/// sees it, or else the buffer.
nb::object owner_of(Ref<Buffer> buffer) {
    if (const auto* const python = dynamic_cast<const PythonBuffer*>(&buffer->root())) {
        return nb::borrow(python->owner());
    }
    nb::capsule capsule(buffer.get(), [](void* block) noexcept { Ref<Buffer>::adopt(static_cast<Buffer*>(block)); });
    static_cast<void>(buffer.detach());
    return std::move(capsule);
}

nb::object as_bfloat16(const nb::object& array) {
    try {
        return array.attr("view")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_ImportError)) {
            throw;
        }
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                "numpy has no BF16: install ml_dtypes, or read the bits through the tensor's memory_buffer");
}

}  // namespace

nb::module_ numpy() {
    return nb::module_::import_("numpy");
}

std::optional<Tensor> tensor_over_array(nb::handle array) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())) != array_type.get().ptr()) {
        return std::nullopt;
    }
    nb::ndarray<nb::ro> view;
    if (!nb::try_cast(array, view, false) || !c_contiguous(view)) {
        return std::nullopt;
    }
    const DataType data_type = data_type_of(view.dtype());
    if (data_type == TRITONSERVER_TYPE_INVALID) {
        return std::nullopt;
    }
    std::vector<std::int64_t> shape(view.ndim());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        shape[i] = static_cast<std::int64_t>(view.shape(i));
    }
    return Tensor(data_type, std::move(shape),
                  make_ref<PythonBuffer>(const_cast<void*>(view.data()), view.nbytes(), TRITONSERVER_MEMORY_CPU, 0,
                                         true, nb::borrow(array)));
}

Tensor to_tensor(nb::handle value) {
    if (std::optional<Tensor> tensor = tensor_over_array(value)) {
        return *std::move(tensor);
    }
    if (nb::isinstance<Tensor>(value)) {
        return nb::cast<const Tensor&>(value);
    }
    return nb::cast<Tensor>(general_conversion.get()(value));
}

nb::object to_array(const Tensor& tensor, bool read_only) {
    const Ref<Buffer>& buffer = tensor.buffer();
    if (buffer->memory_type() == TRITONSERVER_MEMORY_GPU) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "the tensor is in GPU memory, which numpy cannot read");
    }
    if (tensor.shape().size() > most_dimensions) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "a numpy array cannot have the tensor's " + std::to_string(tensor.shape().size()) + " dimensions");
    }
    if (tensor.data_type() == TRITONSERVER_TYPE_BYTES) {
        nb::object array = bytes_array(tensor);
        if (read_only) {
            array.attr("setflags")(nb::arg("write") = false);
        }
        return array;
    }
    const std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
    const nb::object owner = owner_of(buffer);
    const nb::dlpack::dtype dtype = storage_type(tensor.data_type());
    nb::object array;
    if (read_only || buffer->read_only()) {
        array =
            nb::cast(nb::ndarray<nb::numpy, nb::ro>(buffer->data(), shape.size(), shape.data(), owner, nullptr, dtype));
    } else {
        array = nb::cast(nb::ndarray<nb::numpy>(buffer->data(), shape.size(), shape.data(), owner, nullptr, dtype));
    }
    return tensor.data_type() == TRITONSERVER_TYPE_BF16 ? as_bfloat16(array) : array;
}

nb::object to_dtype(DataType data_type) {
    if (data_type == TRITONSERVER_TYPE_BYTES) {
        return numpy().attr("dtype")("O");
    }
    if (data_type == TRITONSERVER_TYPE_BF16) {
        return numpy().attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    }
    const nb::dlpack::dtype storage = storage_type(data_type);
    const char* const kind = storage.code == static_cast<std::uint8_t>(dtype_code::Float)  ? "f"
                             : storage.code == static_cast<std::uint8_t>(dtype_code::Int)  ? "i"
                             : storage.code == static_cast<std::uint8_t>(dtype_code::UInt) ? "u"
                                                                                           : "?";
    return numpy().attr("dtype")(*kind == '?' ? std::string(kind) : kind + std::to_string(storage.bits / 8));
}

}  // namespace triton_inprocess
