#include "bindings/bytes_array.h"

#include <optional>
#include <string_view>
#include <utility>

#include "bindings/array_view.h"
#include "bindings/device.h"
#include "bindings/errors.h"
#include "bindings/numpy.h"
#include "bindings/shape.h"
#include "runtime/error.h"
#include "tensor/bytes_codec.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::string_view view_of(nb::handle element, std::size_t index) {
    Py_ssize_t size = 0;
    if (PyUnicode_Check(element.ptr()) != 0) {
        const char* const text = PyUnicode_AsUTF8AndSize(element.ptr(), &size);
        if (text == nullptr) {
            throw nb::python_error();
        }
        return {text, static_cast<std::size_t>(size)};
    }
    char* data = nullptr;
    if (PyBytes_Check(element.ptr()) == 0) {
        const std::string message = "element " + std::to_string(index) +
                                    " of a BYTES tensor must be str or bytes, not " +
                                    text_of(element.type().attr("__name__"));
        throw nb::type_error(message.c_str());
    }
    PyBytes_AsStringAndSize(element.ptr(), &data, &size);
    return {data, static_cast<std::size_t>(size)};
}

/// An object array of what `make` makes of each element.
template <typename Make>
nb::object array_of_elements(const Tensor& tensor, const Make& make) {
    const Buffer& buffer = *tensor.buffer();
    require_host_memory(buffer);
    const std::vector<std::string_view> elements =
        decode_bytes(buffer.data(), buffer.byte_size(), tensor.element_count());
    nb::object array = numpy().attr("empty")(shape_tuple(tensor.shape()), nb::arg("dtype") = "O");
    const std::optional<ArrayView> view = view_of_array(array);
    if (!view) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "numpy.empty made no array");
    }
    // Straight into the array's memory, which nobody else knows yet: it is full of None, or of nothing.
    auto** const objects = static_cast<PyObject**>(view->data);
    for (std::size_t i = 0; i < elements.size(); ++i) {
        PyObject* const object = make(elements[i]);
        if (object == nullptr) {
            throw nb::python_error();
        }
        Py_XDECREF(std::exchange(objects[i], object));
    }
    return array;
}

}  // namespace

Tensor tensor_of_elements(const nb::list& elements, std::vector<std::int64_t> shape) {
    std::vector<std::string_view> views;
    views.reserve(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
        views.push_back(view_of(PyList_GetItem(elements.ptr(), static_cast<Py_ssize_t>(i)), i));
    }
    if (element_count(shape.data(), shape.size()) != views.size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "shape " + shape_text(shape.data(), shape.size()) +
                                                        " does not hold " + std::to_string(views.size()) + " elements");
    }
    return Tensor(TRITONSERVER_TYPE_BYTES, std::move(shape), encode_bytes(views));
}

nb::object bytes_array(const Tensor& tensor) {
    return array_of_elements(tensor, [](std::string_view element) {
        return PyBytes_FromStringAndSize(element.data(), static_cast<Py_ssize_t>(element.size()));
    });
}

nb::object string_array(const Tensor& tensor, const std::string& encoding, const std::string& errors) {
    return array_of_elements(tensor, [&](std::string_view element) {
        const auto size = static_cast<Py_ssize_t>(element.size());
        const char* const data = element.data();
        return encoding == "utf-8" ? PyUnicode_DecodeUTF8(data, size, errors.c_str())
                                   : PyUnicode_Decode(data, size, encoding.c_str(), errors.c_str());
    });
}

}  // namespace triton_inprocess
