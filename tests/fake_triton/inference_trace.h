// What is told of a request on its way.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "abi/types.h"
#include "live.h"

namespace fake_triton {

/// The user's functions and pointer, which child traces share.
struct TraceCallbacks {
    TRITONSERVER_InferenceTraceActivityFn_t activity = nullptr;
    TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity = nullptr;
    TRITONSERVER_InferenceTraceReleaseFn_t release = nullptr;
    void* user = nullptr;
};

}  // namespace fake_triton

struct TRITONSERVER_InferenceTrace : fake_triton::Live<TRITONSERVER_InferenceTrace> {
    static constexpr const char* type_name = "InferenceTrace";

    TRITONSERVER_InferenceTrace(TRITONSERVER_InferenceTraceLevel trace_level, std::uint64_t parent,
                                const fake_triton::TraceCallbacks& user_callbacks);

    void report(TRITONSERVER_InferenceTraceActivity activity);
    void report_tensor(TRITONSERVER_InferenceTraceActivity activity, const std::string& tensor,
                       TRITONSERVER_DataType data_type, const void* base, std::size_t byte_size,
                       const std::int64_t* shape, std::size_t rank, TRITONSERVER_MemoryType memory_type,
                       std::int64_t memory_type_id);

    /// Hands the trace to the library: the user may not delete it until it is given back.
    void take();
    /// Gives it back to the user, whose release function deletes it.
    void give_back();

    TRITONSERVER_InferenceTrace* spawn_child() const;

    const std::uint64_t id;
    const std::uint64_t parent_id;
    const std::uint32_t level;  ///< A set of TRITONSERVER_InferenceTraceLevel.
    const fake_triton::TraceCallbacks callbacks;
    std::string model_name;
    std::int64_t model_version = -1;
    std::string request_id;
    std::string context;
    std::atomic<bool> taken{false};
};
