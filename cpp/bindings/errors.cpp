#include "bindings/errors.h"

#include <nanobind/stl/string.h>

#include <array>
#include <string>

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

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

std::string text(nb::handle object) {
    // Messages can hold what is no UTF-8 (surrogates): they are escaped, never refused.
    const nb::object encoded = nb::str(object).attr("encode")("utf-8", "backslashreplace");
    return std::string(nb::cast<nb::bytes>(encoded).c_str());
}

TRITONSERVER_Error_Code code_of(const nb::python_error& error) {
    const nb::module_ module = errors_module();
    for (const ErrorClass& each : classes) {
        if (error.matches(module.attr(each.name))) {
            return each.code;
        }
    }
    return TRITONSERVER_ERROR_INTERNAL;
}

void translate(const std::exception_ptr& pointer, void* /*unused*/) {
    try {
        std::rethrow_exception(pointer);
    } catch (const Error& error) {
        const nb::object exception = to_exception(error);
        PyErr_SetObject(exception.type().ptr(), exception.ptr());
    }
}

}  // namespace

nb::object to_exception(const Error& error) {
    return errors_module().attr(class_name(error.code()))(nb::steal(PyUnicode_DecodeUTF8(
        error.message().data(), static_cast<Py_ssize_t>(error.message().size()), "backslashreplace")));
}

Error take_python_error() noexcept {
    try {
        nb::python_error error;
        const TRITONSERVER_Error_Code code = code_of(error);
        std::string message = text(error.value());
        if (!error.matches(errors_module().attr("TritonError"))) {
            const std::string type = text(error.type().attr("__name__"));
            message = message.empty() ? type : type + ": " + message;
        }
        return Error(code, std::move(message));
    } catch (const std::exception&) {
        PyErr_Clear();
        return Error(TRITONSERVER_ERROR_INTERNAL, "an exception whose description failed, too");
    }
}

void register_errors(nb::module_& /*module*/) {
    nb::register_exception_translator(translate);
}

}  // namespace triton_inprocess
