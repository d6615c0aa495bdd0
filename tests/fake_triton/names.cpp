// The C API's names of its enumerators.
#include <array>
#include <cstring>

#include "implementation.h"

namespace fake_triton::implementation {
namespace {

struct DataTypeFact {
    const char* name;
    uint32_t byte_size;
};

// In the order of the enumeration.
constexpr std::array<DataTypeFact, 15> data_types = {{
    {"<invalid>", 0},
    {"BOOL", 1},
    {"UINT8", 1},
    {"UINT16", 2},
    {"UINT32", 4},
    {"UINT64", 8},
    {"INT8", 1},
    {"INT16", 2},
    {"INT32", 4},
    {"INT64", 8},
    {"FP16", 2},
    {"FP32", 4},
    {"FP64", 8},
    {"BYTES", 0},
    {"BF16", 2},
}};

const DataTypeFact& fact(TRITONSERVER_DataType datatype) {
    const auto index = static_cast<std::size_t>(datatype);
    return data_types[index < data_types.size() ? index : 0];
}

template <std::size_t count>
const char* pick(const std::array<const char*, count>& names, std::size_t index, const char* otherwise) {
    return index < count ? names[index] : otherwise;
}

}  // namespace

const char* TRITONSERVER_DataTypeString(TRITONSERVER_DataType datatype) {
    return fact(datatype).name;
}

TRITONSERVER_DataType TRITONSERVER_StringToDataType(const char* dtype) {
    for (std::size_t index = 1; index < data_types.size(); ++index) {
        if (std::strcmp(dtype, data_types[index].name) == 0) {
            return static_cast<TRITONSERVER_DataType>(index);
        }
    }
    return TRITONSERVER_TYPE_INVALID;
}

uint32_t TRITONSERVER_DataTypeByteSize(TRITONSERVER_DataType datatype) {
    return fact(datatype).byte_size;
}

const char* TRITONSERVER_MemoryTypeString(TRITONSERVER_MemoryType memtype) {
    constexpr std::array<const char*, 3> names = {"CPU", "CPU_PINNED", "GPU"};
    return pick(names, memtype, "<invalid>");
}

const char* TRITONSERVER_ParameterTypeString(TRITONSERVER_ParameterType paramtype) {
    constexpr std::array<const char*, 5> names = {"STRING", "INT", "BOOL", "DOUBLE", "BYTES"};
    return pick(names, paramtype, "<invalid>");
}

const char* TRITONSERVER_InstanceGroupKindString(TRITONSERVER_InstanceGroupKind kind) {
    constexpr std::array<const char*, 4> names = {"AUTO", "CPU", "GPU", "MODEL"};
    return pick(names, kind, "<invalid>");
}

const char* TRITONSERVER_InferenceTraceLevelString(TRITONSERVER_InferenceTraceLevel level) {
    switch (level) {
        case TRITONSERVER_TRACE_LEVEL_DISABLED:
            return "DISABLED";
        case TRITONSERVER_TRACE_LEVEL_MIN:
            return "MIN";
        case TRITONSERVER_TRACE_LEVEL_MAX:
            return "MAX";
        case TRITONSERVER_TRACE_LEVEL_TIMESTAMPS:
            return "TIMESTAMPS";
        case TRITONSERVER_TRACE_LEVEL_TENSORS:
            return "TENSORS";
    }
    return "<unknown>";
}

const char* TRITONSERVER_InferenceTraceActivityString(TRITONSERVER_InferenceTraceActivity activity) {
    constexpr std::array<const char*, 11> names = {
        "REQUEST_START",        "QUEUE_START",           "COMPUTE_START",  "COMPUTE_INPUT_END",
        "COMPUTE_OUTPUT_START", "COMPUTE_END",           "REQUEST_END",    "TENSOR_QUEUE_INPUT",
        "TENSOR_BACKEND_INPUT", "TENSOR_BACKEND_OUTPUT", "CUSTOM_ACTIVITY"};
    return pick(names, activity, "<unknown>");
}

}  // namespace fake_triton::implementation
