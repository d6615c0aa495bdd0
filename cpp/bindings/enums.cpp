#include "bindings/enums.h"

#include "abi/types.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_enums(nb::module_& module) {
    nb::enum_<TRITONSERVER_DataType>(module, "DataType", "Triton's tensor data types (TRITONSERVER_DataType).")
        .value("INVALID", TRITONSERVER_TYPE_INVALID)
        .value("BOOL", TRITONSERVER_TYPE_BOOL)
        .value("UINT8", TRITONSERVER_TYPE_UINT8)
        .value("UINT16", TRITONSERVER_TYPE_UINT16)
        .value("UINT32", TRITONSERVER_TYPE_UINT32)
        .value("UINT64", TRITONSERVER_TYPE_UINT64)
        .value("INT8", TRITONSERVER_TYPE_INT8)
        .value("INT16", TRITONSERVER_TYPE_INT16)
        .value("INT32", TRITONSERVER_TYPE_INT32)
        .value("INT64", TRITONSERVER_TYPE_INT64)
        .value("FP16", TRITONSERVER_TYPE_FP16)
        .value("FP32", TRITONSERVER_TYPE_FP32)
        .value("FP64", TRITONSERVER_TYPE_FP64)
        .value("BYTES", TRITONSERVER_TYPE_BYTES)
        .value("BF16", TRITONSERVER_TYPE_BF16);
    nb::enum_<TRITONSERVER_MemoryType>(module, "MemoryType", "Where memory lies (TRITONSERVER_MemoryType).")
        .value("CPU", TRITONSERVER_MEMORY_CPU)
        .value("CPU_PINNED", TRITONSERVER_MEMORY_CPU_PINNED)
        .value("GPU", TRITONSERVER_MEMORY_GPU);
    nb::enum_<TRITONSERVER_InstanceGroupKind>(module, "InstanceGroupKind",
                                              "What a model instance runs on (TRITONSERVER_InstanceGroupKind).")
        .value("AUTO", TRITONSERVER_INSTANCEGROUPKIND_AUTO)
        .value("CPU", TRITONSERVER_INSTANCEGROUPKIND_CPU)
        .value("GPU", TRITONSERVER_INSTANCEGROUPKIND_GPU)
        .value("MODEL", TRITONSERVER_INSTANCEGROUPKIND_MODEL);
    nb::enum_<TRITONSERVER_LogLevel>(module, "LogLevel", "Severity of a log message (TRITONSERVER_LogLevel).")
        .value("INFO", TRITONSERVER_LOG_INFO)
        .value("WARN", TRITONSERVER_LOG_WARN)
        .value("ERROR", TRITONSERVER_LOG_ERROR)
        .value("VERBOSE", TRITONSERVER_LOG_VERBOSE);
    nb::enum_<TRITONSERVER_LogFormat>(module, "LogFormat", "Form of a log line (TRITONSERVER_LogFormat).")
        .value("DEFAULT", TRITONSERVER_LOG_DEFAULT)
        .value("ISO8601", TRITONSERVER_LOG_ISO8601);
    nb::enum_<TRITONSERVER_MetricFormat>(module, "MetricFormat",
                                         "Form of a metrics report (TRITONSERVER_MetricFormat).")
        .value("PROMETHEUS", TRITONSERVER_METRIC_PROMETHEUS);
    nb::enum_<TRITONSERVER_MetricKind>(module, "MetricKind", "Kind of a metric (TRITONSERVER_MetricKind).")
        .value("COUNTER", TRITONSERVER_METRIC_KIND_COUNTER)
        .value("GAUGE", TRITONSERVER_METRIC_KIND_GAUGE)
        .value("HISTOGRAM", TRITONSERVER_METRIC_KIND_HISTOGRAM);
    nb::enum_<TRITONSERVER_ModelControlMode>(module, "ModelControlMode",
                                             "Who decides which models are loaded (TRITONSERVER_ModelControlMode).")
        .value("NONE", TRITONSERVER_MODEL_CONTROL_NONE)
        .value("POLL", TRITONSERVER_MODEL_CONTROL_POLL)
        .value("EXPLICIT", TRITONSERVER_MODEL_CONTROL_EXPLICIT);
    nb::enum_<TRITONSERVER_RateLimitMode>(module, "RateLimitMode",
                                          "Whether executions are rationed (TRITONSERVER_RateLimitMode).")
        .value("OFF", TRITONSERVER_RATE_LIMIT_OFF)
        .value("EXEC_COUNT", TRITONSERVER_RATE_LIMIT_EXEC_COUNT);
}

}  // namespace triton_inprocess
