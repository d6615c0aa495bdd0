#include "bindings/tensor.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings/dlpack.h"
#include "bindings/memory_buffer.h"
#include "bindings/numpy.h"
#include "runtime/error.h"
#include "tensor/bytes_codec.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using Shape = std::vector<std::int64_t>;

nb::tuple shape_tuple(const Tensor& tensor) {
    nb::list shape;
    for (const std::int64_t dimension : tensor.shape()) {
        shape.append(dimension);
    }
    return nb::tuple(shape);
}

nb::object as_array(const Tensor& tensor, const nb::object& dtype, const nb::object& copy) {
    nb::object array = to_array(tensor);
    const bool copied_already = tensor.data_type() == TRITONSERVER_TYPE_BYTES;
    const bool other_dtype = !dtype.is_none() && !dtype.equal(array.attr("dtype"));
    if (!copy.is_none() && !nb::cast<bool>(copy)) {
        if (other_dtype || copied_already) {
            throw nb::value_error("the tensor cannot become this array without a copy, and copy is False");
        }
        return array;
    }
    if (other_dtype) {
        return array.attr("astype")(dtype);
    }
    return !copy.is_none() && !copied_already ? array.attr("copy")() : array;
}

Tensor over_array(nb::handle array, const std::optional<TRITONSERVER_DataType>& data_type) {
    std::optional<Tensor> tensor = tensor_over_array(array);
    if (!tensor) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "array is not a C-contiguous numpy array of a type that Triton has");
    }
    return data_type ? Tensor(*data_type, tensor->shape(), tensor->buffer()) : *std::move(tensor);
}

Tensor from_elements(const nb::list& elements, Shape shape) {
    std::vector<std::string_view> views;
    views.reserve(elements.size());
    for (const nb::handle element : elements) {
        char* data = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(element.ptr(), &data, &size) != 0) {
            throw nb::python_error();
        }
        views.emplace_back(data, static_cast<std::size_t>(size));
    }
    if (element_count(shape.data(), shape.size()) != views.size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "shape " + shape_text(shape.data(), shape.size()) +
                                                        " does not hold " + std::to_string(views.size()) + " elements");
    }
    return Tensor(TRITONSERVER_TYPE_BYTES, std::move(shape), encode_bytes(views));
}

/// Calls a function of triton_inprocess._convert, where the general and slow conversions live.
nb::object convert(const char* function, nb::handle argument) {
    return nb::module_::import_("triton_inprocess._convert").attr(function)(argument);
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
        .def_prop_ro("shape", &shape_tuple, nb::sig("def shape(self) -> tuple[int, ...]"), "Size of each dimension.")
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
        .def(
            "numpy", [](const Tensor& self) { return to_array(self); },
            nb::sig("def numpy(self) -> triton_inprocess._types.Array"),
            "A numpy array over the same memory, without a copy.\n\n"
            "BYTES become an object array of `bytes`, which is a copy. BF16 needs the package ml_dtypes, or raises "
            "UnsupportedError. The array is writable unless the memory belongs to a caller.")
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
        .def(
            "to_bytes_array", [](nb::handle self) { return convert("to_bytes_array", self); },
            nb::sig("def to_bytes_array(self) -> triton_inprocess._types.ObjectArray"),
            "The elements of a BYTES tensor as an object array of `bytes`. Raises TypeError for another type.")
        .def(
            "to_string_array", [](nb::handle self) { return convert("to_string_array", self); },
            nb::sig("def to_string_array(self) -> triton_inprocess._types.ObjectArray"),
            "The elements of a BYTES tensor as an object array of `str`, decoded as UTF-8. Raises TypeError for "
            "another type "
            "and UnicodeDecodeError for what is no UTF-8.")
        .def_static(
            "from_bytes_array", [](nb::handle array) { return convert("from_bytes_array", array); }, "array"_a,
            nb::sig("def from_bytes_array(array: typing.Any) -> Tensor"),
            "A BYTES tensor of an array or (nested) list of bytes. numpy's S arrays cannot hold trailing NULs: lists "
            "and object "
            "arrays keep them.")
        .def_static(
            "from_string_array", [](nb::handle array) { return convert("from_string_array", array); }, "array"_a,
            nb::sig("def from_string_array(array: typing.Any) -> Tensor"),
            "A BYTES tensor of an array or (nested) list of str, encoded as UTF-8.")
        .def_static(
            "from_dlpack", [](nb::handle object) { return convert("from_dlpack", object); }, "object"_a,
            nb::sig("def from_dlpack(object: typing.Any) -> Tensor"),
            "A tensor over the memory of an object that speaks DLPack, in host memory. What is not contiguous is "
            "copied.")
        .def("__repr__", [](const Tensor& self) {
            return "Tensor(data_type=" + std::string(data_type_name(self.data_type())) +
                   ", shape=" + shape_text(self.shape().data(), self.shape().size()) + ")";
        });
    module.def(
        "tensor_over_array", &over_array, "array"_a, "data_type"_a.none() = nb::none(),
        nb::sig("def tensor_over_array(array: triton_inprocess._types.Array, data_type: DataType | None = None) -> "
                "Tensor"),
        "A tensor over the memory of a contiguous array of a native type, under another data type if one is given.");
    module.def("tensor_from_elements", &from_elements, "elements"_a, "shape"_a,
               nb::sig("def tensor_from_elements(elements: list[bytes], shape: Sequence[int]) -> Tensor"),
               "A BYTES tensor of the given elements.");
}

}  // namespace triton_inprocess
