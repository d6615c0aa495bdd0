#include "bindings/errors.h"

#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "bindings/cached_attribute.h"
#include "bindings/gil.h"
#include "bindings/held_object.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute describe("triton_inprocess._function_errors", "describe");

struct ErrorClass {
    TRITONSERVER_Error_Code code;
    const char* name;
};

constexpr std::array<ErrorClass, 8> classes = {{
    {TRITONSERVER_ERROR_UNKNOWN, "UnknownError"},
    {TRITONSERVER_ERROR_INTERNAL, "InternalError"},
    {TRITONSERVER_ERROR_NOT_FOUND, "NotFoundError"},
    {TRITONSERVER_ERROR_INVALID_ARG, "InvalidArgumentError"},
    {TRITONSERVER_ERROR_UNAVAILABLE, "UnavailableError"},
    {TRITONSERVER_ERROR_UNSUPPORTED, "UnsupportedError"},
    {TRITONSERVER_ERROR_ALREADY_EXISTS, "AlreadyExistsError"},
    {TRITONSERVER_ERROR_CANCELLED, "CancelledError"},
}};

nb::module_ errors_module() {
    return nb::module_::import_("triton_inprocess.errors");
}

const char* class_name(TRITONSERVER_Error_Code code) noexcept {
    for (const ErrorClass& each : classes) {
        if (each.code == code) {
            return each.name;
        }
    }
    return "UnknownError";
}

nb::object text_object(const std::string& text) {
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

}  // namespace

Error described(PyObject* exception) {
    Error undescribed(TRITONSERVER_ERROR_INTERNAL, "an exception whose description failed, too");
    const nb::tuple arguments = nb::make_tuple(nb::handle(exception));
    const NativeThreadObject description(call_on_native_thread(describe.get().ptr(), arguments.ptr(), nullptr));
    if (description.get() == nullptr) {
        PyErr_Clear();
        return undescribed;
    }
    const nb::handle parts(description.get());
    Error error(static_cast<TRITONSERVER_Error_Code>(nb::cast<int>(parts[0])), nb::cast<std::string>(parts[1]));
    error.set_detail(nb::cast<std::string>(parts[2]));
    return error;
}

namespace {

void translate(const std::exception_ptr& pointer, void* /*unused*/) {
    try {
        std::rethrow_exception(pointer);
    } catch (const Error& error) {
        const nb::object exception = to_exception(error);
        PyErr_SetObject(exception.type().ptr(), exception.ptr());
    }
}

}  // namespace

std::string text_of(nb::handle object) {
    const HeldObject text = nb::steal(str_on_native_thread(object.ptr()));
    const nb::object encoded =
        text.is_valid() ? nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace")) : nb::object();
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (!encoded.is_valid() || PyBytes_AsStringAndSize(encoded.ptr(), &data, &size) != 0) {
        throw nb::python_error();
    }
    return std::string(data, static_cast<std::size_t>(size));
}

nb::object to_exception(const Error& error) {
    const nb::module_ errors = errors_module();
    nb::object exception = errors.attr(class_name(error.code()))(text_object(error.message()));
    if (!error.detail().empty()) {
        exception.attr("__cause__") = errors.attr("FunctionTraceback")(text_object(error.detail()));
    }
    return exception;
}

Error take_function_error() noexcept {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    normalize_on_native_thread(&type, &value, &traceback);
    const NativeThreadObject owned_type(type);
    const NativeThreadObject owned_value(value);
    const NativeThreadObject owned_traceback(traceback);
    try {
        if (value != nullptr && traceback != nullptr) {
            PyException_SetTraceback(value, traceback);
        }
        return described(value);
    } catch (const std::exception&) {
        PyErr_Clear();
        return Error(TRITONSERVER_ERROR_INTERNAL, "an exception that could not be described");
    }
}

void register_errors(nb::module_& /*module*/) {
    nb::register_exception_translator(translate);
}

}  // namespace triton_inprocess
