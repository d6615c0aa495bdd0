#include "bindings/tensor.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/bytes_array.h"
#include "bindings/conversion.h"
#include "bindings/cuda_array_interface.h"
#include "bindings/device.h"
#include "bindings/dlpack_export.h"
#include "bindings/dlpack_import.h"
#include "bindings/gil.h"
#include "bindings/memory_buffer.h"
#include "bindings/numpy.h"
#include "bindings/shape.h"
#include "bindings/shared_tensor.h"
#include "tensor/bfloat16.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using Shape = std::vector<std::int64_t>;

/// Calls a function of triton_inprocess._convert, where the general and slow conversions live.
nb::object convert(const char* function, nb::handle argument) {
    return nb::module_::import_("triton_inprocess._convert").attr(function)(argument);
}

bool is_copied(const Tensor& tensor) {
    return tensor.data_type() == TRITONSERVER_TYPE_BYTES;
}

/// The array, or ValueError if it would be a copy and none is allowed.
nb::object array_of(const Tensor& tensor, std::optional<bool> copy) {
    if (is_copied(tensor) && !copy.value_or(true)) {
        throw nb::value_error("a BYTES tensor cannot become an array without a copy, and copy is False");
    }
    return to_array(tensor);
}

nb::object as_array(const Tensor& tensor, const nb::object& dtype, std::optional<bool> copy) {
    nb::object array = array_of(tensor, copy);
    if (!dtype.is_none() && !dtype.equal(array.attr("dtype"))) {
        if (!copy.value_or(true)) {
            throw nb::value_error(
                "the tensor cannot become an array of another dtype without a copy, and copy is False");
        }
        return array.attr("astype")(dtype);
    }
    return copy.value_or(false) && !is_copied(tensor) ? array.attr("copy")() : array;
}

nb::object as_numpy(const Tensor& tensor, std::optional<bool> copy) {
    return as_array(tensor, nb::none(), copy);
}

nb::object as_list(const Tensor& tensor) {
    if (tensor.data_type() == TRITONSERVER_TYPE_BF16) {
        return convert("bfloat16_list", nb::cast(tensor));
    }
    return to_array(tensor).attr("tolist")();
}

Tensor as_type(const Tensor& tensor, TRITONSERVER_DataType data_type) {
    if (element_size(data_type) != element_size(tensor.data_type())) {
        throw nb::type_error((std::string("a ") + data_type_name(tensor.data_type()) + " tensor cannot be viewed as " +
                              data_type_name(data_type) + ", whose elements have another size")
                                 .c_str());
    }
    return Tensor(data_type, tensor.shape(), tensor.buffer());
}

void require_bytes(const Tensor& tensor) {
    if (tensor.data_type() != TRITONSERVER_TYPE_BYTES) {
        throw nb::type_error(
            (std::string("the tensor must be BYTES, not ") + data_type_name(tensor.data_type())).c_str());
    }
}

nb::object as_bytes_array(const Tensor& tensor) {
    require_bytes(tensor);
    return to_array(tensor);
}

nb::object as_string_array(const Tensor& tensor, const std::string& encoding, const std::string& errors,
                           const nb::object& dtype) {
    require_bytes(tensor);
    nb::object array = string_array(tensor, encoding, errors);
    return dtype.is_none() ? array : nb::object(array.attr("astype")(dtype));
}

/// A DataType, or what triton_inprocess._convert.to_data_type makes one of.
std::optional<DataType> data_type_argument(const nb::object& value) {
    if (value.is_none()) {
        return std::nullopt;
    }
    return nb::cast<TRITONSERVER_DataType>(convert("to_data_type", value));
}

Tensor of_text(nb::handle array) {
    return from_any(array, TRITONSERVER_TYPE_BYTES);
}

Tensor of_array(nb::handle array, std::optional<DataType> data_type, std::optional<bool> copy) {
    const std::optional<ArrayView> view = view_of_array(array);
    if (!view || view->data_type == TRITONSERVER_TYPE_INVALID) {
        throw nb::type_error("array must be a numpy.ndarray of a type that Triton has");
    }
    if (element_size(data_type.value_or(view->data_type)) != view->layout.element_size) {
        throw nb::type_error("data_type must have elements of the array's size");
    }
    return tensor_of_array(array, *view, data_type, copy);
}

template <typename Value>
Ref<Buffer> rounded(const Tensor& source) {
    const std::size_t count = source.element_count();
    Ref<Buffer> bits = HostBufferPool::instance().allocate(count * sizeof(std::uint16_t));
    const ReleaseGilIfLarge released(source.buffer()->byte_size());
    to_bfloat16<Value>(source.buffer()->data(), count, static_cast<std::uint16_t*>(bits->data()));
    return bits;
}

Ref<Buffer> rounded_to_bfloat16(const Tensor& source) {
    switch (source.data_type()) {
        case TRITONSERVER_TYPE_FP32:
            return rounded<float>(source);
        case TRITONSERVER_TYPE_FP64:
            return rounded<double>(source);
        case TRITONSERVER_TYPE_INT64:
            return rounded<std::int64_t>(source);
        case TRITONSERVER_TYPE_UINT64:
            return rounded<std::uint64_t>(source);
        default:
            throw nb::type_error("array must be of float32, float64, int64 or uint64");
    }
}

Tensor round_to_bfloat16(nb::handle array) {
    const Tensor source = of_array(array, std::nullopt, std::nullopt);
    return Tensor(TRITONSERVER_TYPE_BF16, source.shape(), rounded_to_bfloat16(source));
}

std::optional<bool> copy_argument(const nb::object& value) {
    return value.is_none() ? std::nullopt : std::make_optional(bool_argument("copy", value));
}

Tensor make_from_any(nb::handle value, const nb::object& data_type, const nb::object& copy) {
    return from_any(value, data_type_argument(data_type), copy_argument(copy));
}

}  // namespace

void register_tensor(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Tensor>(
        module, "Tensor",
        "A typed, shaped view of memory: what goes into a model and comes out of one.\n\n"
        "`numpy.asarray(tensor)` and `numpy.from_dlpack(tensor)` are views of the same memory, which stays "
        "alive with them, whatever becomes of the request, the response and the server.")
        .def(
            "__init__",
            [](Tensor* self, TRITONSERVER_DataType data_type, Shape shape, const MemoryBuffer& memory_buffer) {
                new (self) Tensor(data_type, std::move(shape), memory_buffer.buffer);
            },
            "data_type"_a, "shape"_a, "memory_buffer"_a,
            "A tensor over `memory_buffer`. Raises InvalidArgumentError when the shape needs another number of "
            "bytes.")
        .def_prop_ro("data_type", &Tensor::data_type, "Type of the elements.")
        .def_prop_ro(
            "shape", [](const Tensor& self) { return shape_tuple(self.shape()); },
            nb::sig("def shape(self) -> tuple[int, ...]"), "Size of each dimension.")
        .def_prop_ro(
            "memory_buffer", [](const Tensor& self) { return MemoryBuffer{self.buffer()}; },
            "The memory behind the tensor.")
        .def_prop_ro(
            "data_ptr", [](const Tensor& self) { return reinterpret_cast<std::uintptr_t>(self.buffer()->data()); },
            "Address of the first byte.")
        .def_prop_ro(
            "memory_type", [](const Tensor& self) { return self.buffer()->memory_type(); }, "Where the memory lies.")
        .def_prop_ro(
            "memory_type_id", [](const Tensor& self) { return self.buffer()->memory_type_id(); },
            "Which device of that kind.")
        .def_prop_ro(
            "size", [](const Tensor& self) { return self.buffer()->byte_size(); }, "Length in bytes.")
        .def("numpy", &as_numpy, "copy"_a.none() = nb::none(),
             nb::sig("def numpy(self, copy: bool | None = None) -> triton_inprocess._types.Array"),
             "A numpy array over the same memory, without a copy unless `copy` is True.\n\n"
             "BYTES become an object array of `bytes`, which is a copy: ValueError if `copy` is False. BF16 needs the "
             "package ml_dtypes, or raises UnsupportedError, as GPU memory does. The array is writable unless the "
             "memory belongs to a caller.")
        .def("__array__", &as_array, "dtype"_a.none() = nb::none(), nb::kw_only(), "copy"_a.none() = nb::none(),
             nb::sig("def __array__(self, dtype: typing.Any = None, *, copy: bool | None = None) -> "
                     "triton_inprocess._types.Array"),
             "What numpy.asarray(tensor) calls.")
        .def("__dlpack__", &export_dlpack, nb::kw_only(), "stream"_a.none() = nb::none(),
             "max_version"_a.none() = nb::none(), "dl_device"_a.none() = nb::none(), "copy"_a.none() = nb::none(),
             nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, "
                     "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"),
             "The tensor as a DLPack capsule (array API standard).")
        .def("__dlpack_device__", &dlpack_device, nb::sig("def __dlpack_device__(self) -> tuple[int, int]"),
             "DLPack's device type and number.")
        .def_prop_ro("__cuda_array_interface__", &cuda_array_interface,
                     nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"),
                     "What numba, CuPy and others read to use a GPU tensor's memory (version 3). Host memory has none.")
        .def(
            "to_device", &to_device, "device"_a.none(),
            nb::sig("def to_device(self, device: triton_inprocess._types.Device) -> Tensor"),
            "The tensor in other memory: 'cpu', 'cpu_pinned', 'gpu' or 'gpu:1', a MemoryType, or a pair of a "
            "MemoryType or a DLDeviceType and a number.\n\n"
            "Returns this tensor where it is there already, and a copy that is complete where it is not. Needs no CUDA "
            "toolkit, but NVIDIA's driver unless both are 'cpu': raises UnsupportedError without it.")
        .def("to_host", &to_host, nb::sig("def to_host(self) -> Tensor"),
             "A copy in host memory of a tensor in GPU memory; this tensor if it is in host memory, pinned or not.")
        .def("tolist", &as_list, nb::sig("def tolist(self) -> typing.Any"),
             "The elements as (nested) lists of Python's numbers; BYTES as `bytes`; the only one of a tensor without "
             "dimensions as it is.")
        .def("view", &as_type, "data_type"_a, nb::sig("def view(self, data_type: DataType) -> Tensor"),
             "The same memory under another data type with elements of the same size, as the bits of BF16 are UINT16. "
             "Raises TypeError for another size.")
        .def("to_bytes_array", &as_bytes_array,
             nb::sig("def to_bytes_array(self) -> triton_inprocess._types.ObjectArray"),
             "The elements of a BYTES tensor as an object array of `bytes`. Raises TypeError for another type, and "
             "InvalidArgumentError for memory that holds anything else than the elements, naming element and offset.")
        .def("to_string_array", &as_string_array, "encoding"_a = "utf-8", "errors"_a = "strict",
             "dtype"_a.none() = nb::none(),
             nb::sig("def to_string_array(self, encoding: str = 'utf-8', errors: str = 'strict', dtype: typing.Any = "
                     "None) -> triton_inprocess._types.Array"),
             "The elements of a BYTES tensor as an object array of `str`, decoded as `bytes.decode` does; as an array "
             "of another dtype, such as numpy.dtypes.StringDType(), if one is given.\n\n"
             "Raises TypeError for another type of tensor and UnicodeDecodeError for what cannot be decoded.")
        .def_static(
            "from_any", &make_from_any, "value"_a.none(), "data_type"_a.none() = nb::none(),
            "copy"_a.none() = nb::none(),
            nb::sig("def from_any(value: typing.Any, data_type: typing.Any = None, copy: bool | None = None) "
                    "-> Tensor"),
            "A tensor for `value`: a Tensor, a numpy array or scalar, a number, str or bytes, a (nested) list "
            "or other sequence of those, or an object with DLPack, the buffer protocol, `__cuda_array_interface__`, "
            "`__array_interface__` or `__array__`.\n\n"
            "`data_type`: a DataType, Triton's name for it or a numpy dtype. Values of another type are "
            "converted if all of them are in its range, to the nearest float (of two to the even one: also integers, "
            "of which FP32 holds 24 bits exactly); floats do not become integers, not even 1.0. "
            "For BF16, uint16 is taken for the bits. `copy`: True always copies; None only what cannot be read as it "
            "lies (strides, byte order, another type, lists, strings); False raises ValueError for that.\n\n"
            "Raises TypeError for what has no Triton type, for a masked array and for values of a kind that "
            "does not convert (floats to integers); ValueError for a value out of range.")
        .def_static(
            "from_bytes_array", &of_text, "array"_a, nb::sig("def from_bytes_array(array: typing.Any) -> Tensor"),
            "A BYTES tensor of an array or (nested) list of bytes (or str, encoded as UTF-8). numpy's S arrays cannot "
            "hold trailing NULs: lists and object arrays keep them.")
        .def_static("from_string_array", &of_text, "array"_a,
                    nb::sig("def from_string_array(array: typing.Any) -> Tensor"),
                    "A BYTES tensor of an array or (nested) list of str (or bytes), encoded as UTF-8.")
        .def_static(
            "from_dlpack", [](nb::handle object) { return convert("from_dlpack", object); }, "object"_a.none(),
            nb::sig("def from_dlpack(object: typing.Any) -> Tensor"),
            "A tensor over the memory of an object that speaks DLPack, or of a DLPack capsule, which is consumed. What "
            "does not lie in C order is copied.\n\n"
            "Raises TypeError for a type that Triton has not, ValueError for a capsule that was consumed before, "
            "UnsupportedError for memory of any device but the host and CUDA's.")
        .def("share", &share_tensor, "pool"_a.none() = nb::none(),
             nb::sig("def share(self, pool: SharedMemoryPool | None = None) -> SharedTensor"),
             "The handle by which other processes open the tensor; it holds the memory.\n\n"
             "A tensor in host memory is put into the pool, by a copy unless it lies there already. A tensor in GPU "
             "memory takes no pool: it is shared by CUDA's IPC, where it lies, once the GPU's default stream has done "
             "what it was given. What the driver exports no handle of (memory from a stream-ordered pool, as "
             "`to_device` makes it, virtual memory, another process's) is copied once, on the same GPU; `open()` of "
             "the result is that copy.\n\n"
             "Raises TypeError when a tensor in host memory gets no pool, InvalidArgumentError when one in GPU memory "
             "gets one, UnavailableError when the pool or the GPU has no room or the pool is closed.")
        .def("__repr__", [](const Tensor& self) {
            return "Tensor(data_type=" + std::string(data_type_name(self.data_type())) +
                   ", shape=" + shape_text(self.shape().data(), self.shape().size()) + ")";
        });
    // What triton_inprocess._convert is made from.
    module.def("tensor_of_array", &of_array, "array"_a, "data_type"_a.none(), "copy"_a.none(),
               nb::sig("def tensor_of_array(array: triton_inprocess._types.Array, data_type: DataType | None, copy: "
                       "bool | None) -> Tensor"),
               "A tensor of a numpy.ndarray of a native type, under another data type of its size if one is given.");
    module.def("tensor_of_elements", &tensor_of_elements, "elements"_a, "shape"_a,
               nb::sig("def tensor_of_elements(elements: list[typing.Any], shape: Sequence[int]) -> Tensor"),
               "A BYTES tensor of the given bytes and str.");
    module.def("import_dlpack", &import_dlpack, "value"_a, "copy"_a.none(),
               nb::sig("def import_dlpack(value: typing.Any, copy: bool | None) -> Tensor"),
               "A tensor over the memory of a producer or a capsule.");
    module.def("round_to_bfloat16", &round_to_bfloat16, "array"_a,
               nb::sig("def round_to_bfloat16(array: triton_inprocess._types.Array) -> Tensor"),
               "A BF16 tensor of a C-contiguous array of float32, float64, int64 or uint64.");
}

}  // namespace triton_inprocess
