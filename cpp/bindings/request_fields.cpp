#include "bindings/request_fields.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "bindings/arguments.h"
#include "bindings/errors.h"
#include "bindings/trace_record.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

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

void set_trace(InferenceRequest& request, nb::handle value) {
    if (value.is_none()) {
        return;
    }
    const nb::object record = nb::getattr(value, "_record", nb::none());
    if (!nb::isinstance<TraceHandle>(record)) {
        wrong_type("trace", "a Trace or None", value);
    }
    const auto& handle = nb::cast<const TraceHandle&>(record);
    request.set_trace(handle.record, handle.child);
}

}  // namespace

void set_field(InferenceRequest& request, const std::string& field, nb::handle value) {
    constexpr auto unlimited = std::numeric_limits<std::uint64_t>::max();
    if (field == "request_id") {
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
    } else if (field == "trace") {
        set_trace(request, value);
    } else if (field == "response_queue" && value.is_none()) {
        return;  // a queue is served in Python
    } else {
        throw nb::type_error(
            ("'" + field +
             "' is not a field of a request; the fields are request_id, flags, correlation_id, priority, "
             "timeout, deadline, inputs, outputs, parameters, output_memory_type, output_memory_allocator, "
             "max_pending_responses, response_queue, requested_outputs and trace")
                .c_str());
    }
}

}  // namespace triton_inprocess
