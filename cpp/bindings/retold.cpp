#include "bindings/retold.h"

#include "bindings/cached_attribute.h"
#include "bindings/errors.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute triton_error("triton_inprocess.errors", "TritonError");

/// The class that says an error with the name of the input: one that can be made of a text; null if there is none.
PyObject* class_to_retell(const nb::python_error& error) {
    if (error.matches(triton_error.get())) {
        return error.type().ptr();
    }
    for (PyObject* const type : {PyExc_TypeError, PyExc_ValueError, PyExc_BufferError}) {
        // UnicodeError, a ValueError, says more than a text can.
        if (error.matches(type) && !error.matches(PyExc_UnicodeError)) {
            return type;
        }
    }
    return nullptr;
}

}  // namespace

void retell(nb::python_error& error, const std::string& prefix) {
    if (PyObject* const type = class_to_retell(error)) {
        const std::string message = prefix + text_of(error.value());
        nb::raise_from(error, type, "%s", message.c_str());
    }
}

}  // namespace triton_inprocess
