#include "bindings/enums.h"

#include <nanobind/stl/string.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "abi/types.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

template <typename Enumeration>
struct Member {
    const char* name;
    Enumeration value;
    const char* spelling = nullptr;  ///< How Triton spells it, if not like the name.
};

/// A Python enumeration whose members are spelt by str() as Triton spells them, and are numbers where one is wanted.
template <typename Enumeration>
void define(nb::module_& module, const char* name, const char* doc,
            std::initializer_list<Member<Enumeration>> members) {
    nb::enum_<Enumeration> enumeration(module, name, doc);
    std::vector<std::pair<Enumeration, std::string>> spellings;
    for (const Member<Enumeration>& member : members) {
        enumeration.value(member.name, member.value);
        spellings.emplace_back(member.value, member.spelling != nullptr ? member.spelling : member.name);
    }
    enumeration
        .def(
            "__str__",
            [spellings](Enumeration value) {
                for (const auto& [each, spelling] : spellings) {
                    if (each == value) {
                        return spelling;
                    }
                }
                return std::string("<invalid>");
            },
            "As Triton spells it.")
        .def(
            "__int__", [](Enumeration value) { return static_cast<int>(value); }, "The number in the C API.")
        .def("__index__", [](Enumeration value) { return static_cast<int>(value); }, "The number in the C API.");
}

}  // namespace

void register_enums(nb::module_& module) {
    define<TRITONSERVER_DataType>(module, "DataType", "Triton's tensor data types (TRITONSERVER_DataType).",
                                  {{"INVALID", TRITONSERVER_TYPE_INVALID, "<invalid>"},
                                   {"BOOL", TRITONSERVER_TYPE_BOOL},
                                   {"UINT8", TRITONSERVER_TYPE_UINT8},
                                   {"UINT16", TRITONSERVER_TYPE_UINT16},
                                   {"UINT32", TRITONSERVER_TYPE_UINT32},
                                   {"UINT64", TRITONSERVER_TYPE_UINT64},
                                   {"INT8", TRITONSERVER_TYPE_INT8},
                                   {"INT16", TRITONSERVER_TYPE_INT16},
                                   {"INT32", TRITONSERVER_TYPE_INT32},
                                   {"INT64", TRITONSERVER_TYPE_INT64},
                                   {"FP16", TRITONSERVER_TYPE_FP16},
                                   {"FP32", TRITONSERVER_TYPE_FP32},
                                   {"FP64", TRITONSERVER_TYPE_FP64},
                                   {"BYTES", TRITONSERVER_TYPE_BYTES},
                                   {"BF16", TRITONSERVER_TYPE_BF16}});
    define<TRITONSERVER_MemoryType>(module, "MemoryType", "Where memory lies (TRITONSERVER_MemoryType).",
                                    {{"CPU", TRITONSERVER_MEMORY_CPU},
                                     {"CPU_PINNED", TRITONSERVER_MEMORY_CPU_PINNED},
                                     {"GPU", TRITONSERVER_MEMORY_GPU}});
    define<TRITONSERVER_ParameterType>(module, "ParameterType", "Type of a parameter (TRITONSERVER_ParameterType).",
                                       {{"STRING", TRITONSERVER_PARAMETER_STRING},
                                        {"INT", TRITONSERVER_PARAMETER_INT},
                                        {"BOOL", TRITONSERVER_PARAMETER_BOOL},
                                        {"DOUBLE", TRITONSERVER_PARAMETER_DOUBLE},
                                        {"BYTES", TRITONSERVER_PARAMETER_BYTES}});
    define<TRITONSERVER_InstanceGroupKind>(module, "InstanceGroupKind",
                                           "What a model instance runs on (TRITONSERVER_InstanceGroupKind).",
                                           {{"AUTO", TRITONSERVER_INSTANCEGROUPKIND_AUTO},
                                            {"CPU", TRITONSERVER_INSTANCEGROUPKIND_CPU},
                                            {"GPU", TRITONSERVER_INSTANCEGROUPKIND_GPU},
                                            {"MODEL", TRITONSERVER_INSTANCEGROUPKIND_MODEL}});
    define<TRITONSERVER_LogLevel>(module, "LogLevel", "Severity of a log message (TRITONSERVER_LogLevel).",
                                  {{"INFO", TRITONSERVER_LOG_INFO},
                                   {"WARN", TRITONSERVER_LOG_WARN},
                                   {"ERROR", TRITONSERVER_LOG_ERROR},
                                   {"VERBOSE", TRITONSERVER_LOG_VERBOSE}});
    define<TRITONSERVER_LogFormat>(module, "LogFormat", "Form of a log line (TRITONSERVER_LogFormat).",
                                   {{"DEFAULT", TRITONSERVER_LOG_DEFAULT}, {"ISO8601", TRITONSERVER_LOG_ISO8601}});
    define<TRITONSERVER_Error_Code>(module, "ErrorCode",
                                    "What went wrong (TRITONSERVER_Error_Code); each is an exception, too.",
                                    {{"UNKNOWN", TRITONSERVER_ERROR_UNKNOWN, "Unknown"},
                                     {"INTERNAL", TRITONSERVER_ERROR_INTERNAL, "Internal"},
                                     {"NOT_FOUND", TRITONSERVER_ERROR_NOT_FOUND, "Not found"},
                                     {"INVALID_ARG", TRITONSERVER_ERROR_INVALID_ARG, "Invalid argument"},
                                     {"UNAVAILABLE", TRITONSERVER_ERROR_UNAVAILABLE, "Unavailable"},
                                     {"UNSUPPORTED", TRITONSERVER_ERROR_UNSUPPORTED, "Unsupported"},
                                     {"ALREADY_EXISTS", TRITONSERVER_ERROR_ALREADY_EXISTS, "Already exists"},
                                     {"CANCELLED", TRITONSERVER_ERROR_CANCELLED, "Cancelled"}});
    define<TRITONSERVER_MetricFormat>(module, "MetricFormat", "Form of a metrics report (TRITONSERVER_MetricFormat).",
                                      {{"PROMETHEUS", TRITONSERVER_METRIC_PROMETHEUS}});
    define<TRITONSERVER_MetricKind>(module, "MetricKind", "Kind of a metric (TRITONSERVER_MetricKind).",
                                    {{"COUNTER", TRITONSERVER_METRIC_KIND_COUNTER},
                                     {"GAUGE", TRITONSERVER_METRIC_KIND_GAUGE},
                                     {"HISTOGRAM", TRITONSERVER_METRIC_KIND_HISTOGRAM}});
    define<TRITONSERVER_InferenceTraceActivity>(module, "InferenceTraceActivity",
                                                "What a trace tells of (TRITONSERVER_InferenceTraceActivity).",
                                                {{"REQUEST_START", TRITONSERVER_TRACE_REQUEST_START},
                                                 {"QUEUE_START", TRITONSERVER_TRACE_QUEUE_START},
                                                 {"COMPUTE_START", TRITONSERVER_TRACE_COMPUTE_START},
                                                 {"COMPUTE_INPUT_END", TRITONSERVER_TRACE_COMPUTE_INPUT_END},
                                                 {"COMPUTE_OUTPUT_START", TRITONSERVER_TRACE_COMPUTE_OUTPUT_START},
                                                 {"COMPUTE_END", TRITONSERVER_TRACE_COMPUTE_END},
                                                 {"REQUEST_END", TRITONSERVER_TRACE_REQUEST_END},
                                                 {"TENSOR_QUEUE_INPUT", TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT},
                                                 {"TENSOR_BACKEND_INPUT", TRITONSERVER_TRACE_TENSOR_BACKEND_INPUT},
                                                 {"TENSOR_BACKEND_OUTPUT", TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT},
                                                 {"CUSTOM_ACTIVITY", TRITONSERVER_TRACE_CUSTOM_ACTIVITY}});
    define<TRITONSERVER_ModelControlMode>(module, "ModelControlMode",
                                          "Who decides which models are loaded (TRITONSERVER_ModelControlMode).",
                                          {{"NONE", TRITONSERVER_MODEL_CONTROL_NONE},
                                           {"POLL", TRITONSERVER_MODEL_CONTROL_POLL},
                                           {"EXPLICIT", TRITONSERVER_MODEL_CONTROL_EXPLICIT}});
    define<TRITONSERVER_RateLimitMode>(
        module, "RateLimitMode", "Whether executions are rationed (TRITONSERVER_RateLimitMode).",
        {{"OFF", TRITONSERVER_RATE_LIMIT_OFF}, {"EXEC_COUNT", TRITONSERVER_RATE_LIMIT_EXEC_COUNT}});
}

}  // namespace triton_inprocess
