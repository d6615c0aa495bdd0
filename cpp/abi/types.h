// Our own declarations of the types and callbacks of Triton's C ABI: the opaque objects, the enumerations
// with their values and the signatures of the functions that Triton calls back.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN: the names are Triton's.
struct TRITONBACKEND_Backend;
struct TRITONBACKEND_BackendAttribute;
struct TRITONBACKEND_Batcher;
struct TRITONBACKEND_Input;
struct TRITONBACKEND_MemoryManager;
struct TRITONBACKEND_Model;
struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_ModelInstanceResponseStatistics;
struct TRITONBACKEND_Output;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Response;
struct TRITONBACKEND_ResponseFactory;
struct TRITONBACKEND_State;
struct TRITONSERVER_BufferAttributes;
struct TRITONSERVER_Error;
struct TRITONSERVER_InferenceRequest;
struct TRITONSERVER_InferenceResponse;
struct TRITONSERVER_InferenceTrace;
struct TRITONSERVER_Message;
struct TRITONSERVER_Metric;
struct TRITONSERVER_MetricArgs;
struct TRITONSERVER_MetricFamily;
struct TRITONSERVER_Metrics;
struct TRITONSERVER_Parameter;
struct TRITONSERVER_ResponseAllocator;
struct TRITONSERVER_Server;
struct TRITONSERVER_ServerOptions;

enum TRITONSERVER_DataType {
    TRITONSERVER_TYPE_INVALID = 0,
    TRITONSERVER_TYPE_BOOL = 1,
    TRITONSERVER_TYPE_UINT8 = 2,
    TRITONSERVER_TYPE_UINT16 = 3,
    TRITONSERVER_TYPE_UINT32 = 4,
    TRITONSERVER_TYPE_UINT64 = 5,
    TRITONSERVER_TYPE_INT8 = 6,
    TRITONSERVER_TYPE_INT16 = 7,
    TRITONSERVER_TYPE_INT32 = 8,
    TRITONSERVER_TYPE_INT64 = 9,
    TRITONSERVER_TYPE_FP16 = 10,
    TRITONSERVER_TYPE_FP32 = 11,
    TRITONSERVER_TYPE_FP64 = 12,
    TRITONSERVER_TYPE_BYTES = 13,
    TRITONSERVER_TYPE_BF16 = 14,
};

enum TRITONSERVER_MemoryType {
    TRITONSERVER_MEMORY_CPU = 0,
    TRITONSERVER_MEMORY_CPU_PINNED = 1,
    TRITONSERVER_MEMORY_GPU = 2,
};

enum TRITONSERVER_ParameterType {
    TRITONSERVER_PARAMETER_STRING = 0,
    TRITONSERVER_PARAMETER_INT = 1,
    TRITONSERVER_PARAMETER_BOOL = 2,
    TRITONSERVER_PARAMETER_DOUBLE = 3,
    TRITONSERVER_PARAMETER_BYTES = 4,
};

enum TRITONSERVER_InstanceGroupKind {
    TRITONSERVER_INSTANCEGROUPKIND_AUTO = 0,
    TRITONSERVER_INSTANCEGROUPKIND_CPU = 1,
    TRITONSERVER_INSTANCEGROUPKIND_GPU = 2,
    TRITONSERVER_INSTANCEGROUPKIND_MODEL = 3,
};

enum TRITONSERVER_LogLevel {
    TRITONSERVER_LOG_INFO = 0,
    TRITONSERVER_LOG_WARN = 1,
    TRITONSERVER_LOG_ERROR = 2,
    TRITONSERVER_LOG_VERBOSE = 3,
};

enum TRITONSERVER_LogFormat {
    TRITONSERVER_LOG_DEFAULT = 0,
    TRITONSERVER_LOG_ISO8601 = 1,
};

enum TRITONSERVER_Error_Code {
    TRITONSERVER_ERROR_UNKNOWN = 0,
    TRITONSERVER_ERROR_INTERNAL = 1,
    TRITONSERVER_ERROR_NOT_FOUND = 2,
    TRITONSERVER_ERROR_INVALID_ARG = 3,
    TRITONSERVER_ERROR_UNAVAILABLE = 4,
    TRITONSERVER_ERROR_UNSUPPORTED = 5,
    TRITONSERVER_ERROR_ALREADY_EXISTS = 6,
    TRITONSERVER_ERROR_CANCELLED = 7,
};

enum TRITONSERVER_MetricFormat {
    TRITONSERVER_METRIC_PROMETHEUS = 0,
};

enum TRITONSERVER_InferenceTraceLevel {
    TRITONSERVER_TRACE_LEVEL_DISABLED = 0,
    TRITONSERVER_TRACE_LEVEL_MIN = 1,
    TRITONSERVER_TRACE_LEVEL_MAX = 2,
    TRITONSERVER_TRACE_LEVEL_TIMESTAMPS = 4,
    TRITONSERVER_TRACE_LEVEL_TENSORS = 8,
};

enum TRITONSERVER_InferenceTraceActivity {
    TRITONSERVER_TRACE_REQUEST_START = 0,
    TRITONSERVER_TRACE_QUEUE_START = 1,
    TRITONSERVER_TRACE_COMPUTE_START = 2,
    TRITONSERVER_TRACE_COMPUTE_INPUT_END = 3,
    TRITONSERVER_TRACE_COMPUTE_OUTPUT_START = 4,
    TRITONSERVER_TRACE_COMPUTE_END = 5,
    TRITONSERVER_TRACE_REQUEST_END = 6,
    TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT = 7,
    TRITONSERVER_TRACE_TENSOR_BACKEND_INPUT = 8,
    TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT = 9,
    TRITONSERVER_TRACE_CUSTOM_ACTIVITY = 10,
};

enum TRITONSERVER_RequestFlag {
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1,
    TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2,
};

enum TRITONSERVER_RequestReleaseFlag {
    TRITONSERVER_REQUEST_RELEASE_ALL = 1,
    TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2,
};

enum TRITONSERVER_ResponseCompleteFlag {
    TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1,
};

enum TRITONSERVER_ModelControlMode {
    TRITONSERVER_MODEL_CONTROL_NONE = 0,
    TRITONSERVER_MODEL_CONTROL_POLL = 1,
    TRITONSERVER_MODEL_CONTROL_EXPLICIT = 2,
};

enum TRITONSERVER_RateLimitMode {
    TRITONSERVER_RATE_LIMIT_OFF = 0,
    TRITONSERVER_RATE_LIMIT_EXEC_COUNT = 1,
};

enum TRITONSERVER_ModelBatchFlag {
    TRITONSERVER_BATCH_UNKNOWN = 1,
    TRITONSERVER_BATCH_FIRST_DIM = 2,
};

enum TRITONSERVER_ModelIndexFlag {
    TRITONSERVER_INDEX_FLAG_READY = 1,
};

enum TRITONSERVER_ModelTxnPropertyFlag {
    TRITONSERVER_TXN_ONE_TO_ONE = 1,
    TRITONSERVER_TXN_DECOUPLED = 2,
};

enum TRITONSERVER_MetricKind {
    TRITONSERVER_METRIC_KIND_COUNTER = 0,
    TRITONSERVER_METRIC_KIND_GAUGE = 1,
    TRITONSERVER_METRIC_KIND_HISTOGRAM = 2,
};

enum TRITONBACKEND_ArtifactType {
    TRITONBACKEND_ARTIFACT_FILESYSTEM = 0,
};

enum TRITONBACKEND_ExecutionPolicy {
    TRITONBACKEND_EXECUTION_BLOCKING = 0,
    TRITONBACKEND_EXECUTION_DEVICE_BLOCKING = 1,
};

using TRITONSERVER_ResponseAllocatorAllocFn_t = TRITONSERVER_Error* (*)(
    TRITONSERVER_ResponseAllocator* allocator, const char* tensor_name, size_t byte_size,
    TRITONSERVER_MemoryType memory_type, int64_t memory_type_id, void* userp, void** buffer, void** buffer_userp,
    TRITONSERVER_MemoryType* actual_memory_type, int64_t* actual_memory_type_id);
using TRITONSERVER_ResponseAllocatorBufferAttributesFn_t =
    TRITONSERVER_Error* (*)(TRITONSERVER_ResponseAllocator* allocator, const char* tensor_name,
                            TRITONSERVER_BufferAttributes* buffer_attributes, void* userp, void* buffer_userp);
using TRITONSERVER_ResponseAllocatorQueryFn_t = TRITONSERVER_Error* (*)(TRITONSERVER_ResponseAllocator* allocator,
                                                                        void* userp, const char* tensor_name,
                                                                        size_t* byte_size,
                                                                        TRITONSERVER_MemoryType* memory_type,
                                                                        int64_t* memory_type_id);
using TRITONSERVER_ResponseAllocatorReleaseFn_t = TRITONSERVER_Error* (*)(TRITONSERVER_ResponseAllocator* allocator,
                                                                          void* buffer, void* buffer_userp,
                                                                          size_t byte_size,
                                                                          TRITONSERVER_MemoryType memory_type,
                                                                          int64_t memory_type_id);
using TRITONSERVER_ResponseAllocatorStartFn_t = TRITONSERVER_Error* (*)(TRITONSERVER_ResponseAllocator* allocator,
                                                                        void* userp);
using TRITONSERVER_InferenceTraceActivityFn_t = void (*)(TRITONSERVER_InferenceTrace* trace,
                                                         TRITONSERVER_InferenceTraceActivity activity,
                                                         uint64_t timestamp_ns, void* userp);
using TRITONSERVER_InferenceTraceTensorActivityFn_t = void (*)(TRITONSERVER_InferenceTrace* trace,
                                                               TRITONSERVER_InferenceTraceActivity activity,
                                                               const char* name, TRITONSERVER_DataType datatype,
                                                               const void* base, size_t byte_size, const int64_t* shape,
                                                               uint64_t dim_count, TRITONSERVER_MemoryType memory_type,
                                                               int64_t memory_type_id, void* userp);
using TRITONSERVER_InferenceTraceReleaseFn_t = void (*)(TRITONSERVER_InferenceTrace* trace, void* userp);
using TRITONSERVER_InferenceRequestReleaseFn_t = void (*)(TRITONSERVER_InferenceRequest* request, const uint32_t flags,
                                                          void* userp);
using TRITONSERVER_InferenceResponseCompleteFn_t = void (*)(TRITONSERVER_InferenceResponse* response,
                                                            const uint32_t flags, void* userp);
// NOLINTEND
