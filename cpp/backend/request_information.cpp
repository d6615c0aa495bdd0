#include "backend/request_information.h"

#include "core/parameter.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

using Value = std::variant<std::string, std::int64_t, bool, double>;

/// Nothing for a type that cannot be read: BYTES come without a length.
std::optional<Value> parameter_value(TRITONSERVER_ParameterType type, const void* value) {
    switch (type) {
        case TRITONSERVER_PARAMETER_STRING:
            return std::string(static_cast<const char*>(value));
        case TRITONSERVER_PARAMETER_INT:
            return *static_cast<const std::int64_t*>(value);
        case TRITONSERVER_PARAMETER_BOOL:
            return *static_cast<const bool*>(value);
        case TRITONSERVER_PARAMETER_DOUBLE:
            if (Parameter::doubles()) {
                return *static_cast<const double*>(value);
            }
            break;  // it is BYTES
        case TRITONSERVER_PARAMETER_BYTES:
            break;
    }
    return std::nullopt;
}

}  // namespace

RequestInformation::RequestInformation(TRITONBACKEND_Request* request) {
    const char* text = nullptr;
    check(api().TRITONBACKEND_RequestId(request, &text));
    id = text != nullptr ? text : "";
    std::uint64_t number = 0;
    TRITONSERVER_Error* const is_text = api().TRITONBACKEND_RequestCorrelationId(request, &number);
    if (is_text == nullptr) {
        correlation_id = number;
    } else {
        ignore(is_text);
        check(api().TRITONBACKEND_RequestCorrelationIdString(request, &text));
        correlation_id = std::string(text);
    }
    check(api().TRITONBACKEND_RequestFlags(request, &flags));
    ignore(api().TRITONBACKEND_InferenceRequestTimeoutMicroseconds(request, &timeout_us));
    std::uint32_t count = 0;
    // A library without it has no parameters that a request could come with.
    ignore(api().TRITONBACKEND_RequestParameterCount(request, &count));
    for (std::uint32_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_STRING;
        const void* value = nullptr;
        check(api().TRITONBACKEND_RequestParameter(request, i, &name, &type, &value));
        if (std::optional<Value> read = parameter_value(type, value)) {
            parameters.emplace_back(name, *std::move(read));
        }
    }
    TRITONSERVER_InferenceTrace* trace = nullptr;
    ignore(api().TRITONBACKEND_RequestTrace(request, &trace));
    if (trace != nullptr) {
        check(api().TRITONSERVER_InferenceTraceId(trace, &number));
        trace_id = number;
    }
}

}  // namespace triton_inprocess
