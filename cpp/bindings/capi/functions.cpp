#include "bindings/capi/functions.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "bindings/arguments.h"
#include "bindings/gil.h"
#include "bindings/runtime.h"
#include "core/c_text.h"
#include "runtime/error.h"
#include "runtime/function_table.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::string or_empty(const char* text) {
    return text != nullptr ? text : "";
}

/// A function of the C API that spells a value.
template <typename Enumeration>
auto speller(const char* (*FunctionTable::*function)(Enumeration)) {
    return [function](Enumeration value) {
        ensure_runtime();
        return or_empty((api().*function)(value));
    };
}

std::string trace_level_string(std::uint32_t level) {
    ensure_runtime();
    return or_empty(api().TRITONSERVER_InferenceTraceLevelString(static_cast<TRITONSERVER_InferenceTraceLevel>(level)));
}

std::pair<std::uint32_t, std::uint32_t> api_version() {
    ensure_runtime();
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    check(api().TRITONSERVER_ApiVersion(&major, &minor));
    return {major, minor};
}

void log_message(TRITONSERVER_LogLevel level, const std::string& filename, int line, const std::string& message) {
    ensure_runtime();
    const ReleaseGil released;  // where the log goes to may be full
    check(api().TRITONSERVER_LogMessage(level, c_text(filename, "filename"), line, c_text(message, "msg")));
}

std::string error_code_string(TRITONSERVER_Error_Code code) {
    ensure_runtime();
    TRITONSERVER_Error* const error = Error(code, "").to_c();
    std::string text = or_empty(api().TRITONSERVER_ErrorCodeString(error));
    ignore(error);
    return text;
}

}  // namespace

void register_functions(nb::module_& module) {
    using namespace nb::literals;
    using Table = FunctionTable;
    module.def("api_version", &api_version,
               "The version of the loaded library's C API: (major, minor) "
               "(TRITONSERVER_ApiVersion).");
    module.def("TRITONSERVER_DataTypeString", speller(&Table::TRITONSERVER_DataTypeString), "datatype"_a,
               "How Triton spells a data type (TRITONSERVER_DataTypeString).");
    module.def(
        "TRITONSERVER_StringToDataType",
        [](const std::string& text) {
            ensure_runtime();
            return api().TRITONSERVER_StringToDataType(c_text(text, "dtype"));
        },
        "dtype"_a, "The data type that Triton spells so; INVALID for any other text (TRITONSERVER_StringToDataType).");
    module.def(
        "TRITONSERVER_DataTypeByteSize",
        [](TRITONSERVER_DataType data_type) {
            ensure_runtime();
            return api().TRITONSERVER_DataTypeByteSize(data_type);
        },
        "datatype"_a, "The bytes of an element; 0 for BYTES (TRITONSERVER_DataTypeByteSize).");
    module.def("TRITONSERVER_MemoryTypeString", speller(&Table::TRITONSERVER_MemoryTypeString), "memtype"_a,
               "How Triton spells a memory type (TRITONSERVER_MemoryTypeString).");
    module.def("TRITONSERVER_ParameterTypeString", speller(&Table::TRITONSERVER_ParameterTypeString), "paramtype"_a,
               "How Triton spells a parameter type (TRITONSERVER_ParameterTypeString).");
    module.def("TRITONSERVER_InstanceGroupKindString", speller(&Table::TRITONSERVER_InstanceGroupKindString), "kind"_a,
               "How Triton spells a kind of instance group (TRITONSERVER_InstanceGroupKindString).");
    module.def("TRITONSERVER_InferenceTraceLevelString", &trace_level_string, "level"_a,
               "How Triton spells a single trace level (TRITONSERVER_InferenceTraceLevelString).");
    module.def("TRITONSERVER_InferenceTraceActivityString", speller(&Table::TRITONSERVER_InferenceTraceActivityString),
               "activity"_a, "How Triton spells a trace activity (TRITONSERVER_InferenceTraceActivityString).");
    module.def("TRITONSERVER_ErrorCodeString", &error_code_string, "code"_a,
               "How Triton spells an error code (TRITONSERVER_ErrorCodeString).");
    module.def(
        "TRITONSERVER_LogIsEnabled",
        [](TRITONSERVER_LogLevel level) {
            ensure_runtime();
            return api().TRITONSERVER_LogIsEnabled(level);
        },
        "level"_a, "Whether messages of a level are logged (TRITONSERVER_LogIsEnabled).");
    module.def("TRITONSERVER_LogMessage", &log_message, "level"_a, "filename"_a, "line"_a, "msg"_a,
               "Write to Triton's log, as if from that line of that file (TRITONSERVER_LogMessage).");
}

}  // namespace triton_inprocess
