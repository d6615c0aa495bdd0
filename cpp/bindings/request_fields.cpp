#include "bindings/request_fields.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
#include "bindings/conversion.h"
#include "bindings/errors.h"
#include "runtime/error.h"

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

/// The tensor for an input; what is wrong with the data is said with the input's name.
Tensor input_tensor(const std::string& name, nb::handle data) {
    const std::string prefix = "input '" + name + "': ";
    try {
        return from_any(data);
    } catch (const Error& error) {
        throw Error(error.code(), prefix + error.message());
    } catch (nb::python_error& error) {
        if (PyObject* const type = class_to_retell(error)) {
            const std::string message = prefix + text_of(error.value());
            nb::raise_from(error, type, "%s", message.c_str());
        }
        throw;
    }
}

void set_inputs(InferenceRequest& request, nb::handle value) {
    if (PyDict_Check(value.ptr()) == 0) {
        wrong_type("inputs", "a dict of input name to tensor", value);
    }
    for (const auto [name, data] : nb::borrow<nb::dict>(value)) {
        const std::string input = text_argument("the name of an input", name);
        const nb::object kept = nb::borrow(data);  // its conversion may run code that changes the dict
        request.add_input(input, input_tensor(input, kept));
    }
}

void set_requested_outputs(InferenceRequest& request, nb::handle value) {
    if (value.is_none()) {
        return;
    }
    if (PyUnicode_Check(value.ptr()) != 0 || PySequence_Check(value.ptr()) == 0) {
        wrong_type("requested_outputs", "a sequence of output names", value);
    }
    for (const nb::handle name : nb::iter(value)) {
        request.add_requested_output(text_argument("the name of a requested output", name));
    }
}

void set_parameter(InferenceRequest& request, const std::string& name, nb::handle value) {
    std::visit([&](const auto& each) { request.set_parameter(name, each); },
               parameter_argument("parameter '" + name + "'", value));
}

void set_parameters(InferenceRequest& request, nb::handle value) {
    if (value.is_none()) {
        return;
    }
    if (PyDict_Check(value.ptr()) == 0) {
        wrong_type("parameters", "a dict of name to str, int, bool or float", value);
    }
    for (const auto [name, each] : nb::borrow<nb::dict>(value)) {
        const nb::object kept = nb::borrow(each);  // what is asked of it may change the dict
        set_parameter(request, text_argument("the name of a parameter", name), kept);
    }
}

void set_correlation_id(InferenceRequest& request, nb::handle value) {
    if (value.is_none()) {
        return;
    }
    if (PyUnicode_Check(value.ptr()) != 0) {
        request.set_correlation_id(text_argument("correlation_id", value));
    } else if (is_integer(value)) {
        request.set_correlation_id(
            unsigned_argument("correlation_id", value, std::numeric_limits<std::uint64_t>::max()));
    } else {
        wrong_type("correlation_id", "an int or a str", value);
    }
}

void require_host_outputs(nb::handle value) {
    if (value.is_none()) {
        return;
    }
    const bool host = nb::isinstance<MemoryType>(value) ? nb::cast<MemoryType>(value) == TRITONSERVER_MEMORY_CPU
                                                        : value.equal(nb::str("cpu"));
    if (!host) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "output_memory_type " + text_of(nb::repr(value)) +
                                                        " is not supported: outputs are allocated in host memory");
    }
}

}  // namespace

void set_field(InferenceRequest& request, nb::handle name, nb::handle value) {
    const std::string field = text_argument("the name of a request field", name);
    constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
    if (field == "inputs") {
        set_inputs(request, value);
    } else if (field == "request_id") {
        if (!value.is_none()) {
            request.set_id(text_argument(field, value));
        }
    } else if (field == "flags") {
        request.set_flags(
            static_cast<std::uint32_t>(unsigned_argument(field, value, std::numeric_limits<std::uint32_t>::max())));
    } else if (field == "correlation_id") {
        set_correlation_id(request, value);
    } else if (field == "priority") {
        request.set_priority(unsigned_argument(field, value, unlimited));
    } else if (field == "timeout") {
        request.set_timeout_microseconds(unsigned_argument(field, value, unlimited));
    } else if (field == "parameters") {
        set_parameters(request, value);
    } else if (field == "requested_outputs") {
        set_requested_outputs(request, value);
    } else if (field == "output_memory_type") {
        require_host_outputs(value);
    } else if (field == "response_queue" && value.is_none()) {
        return;  // a queue is served in Python
    } else {
        throw nb::type_error(
            ("'" + field +
             "' is not a field of a request; the fields are request_id, flags, correlation_id, priority, "
             "timeout, inputs, parameters, output_memory_type, response_queue and requested_outputs")
                .c_str());
    }
}

}  // namespace triton_inprocess
