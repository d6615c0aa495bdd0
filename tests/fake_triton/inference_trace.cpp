#include "inference_trace.h"

#include <chrono>

#include "breach.h"
#include "error.h"
#include "implementation.h"

using namespace fake_triton;

namespace {

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::uint64_t now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// MIN and MAX are what TIMESTAMPS was called once.
std::uint32_t modern(TRITONSERVER_InferenceTraceLevel level) {
    constexpr std::uint32_t old = TRITONSERVER_TRACE_LEVEL_MIN | TRITONSERVER_TRACE_LEVEL_MAX;
    const auto set = static_cast<std::uint32_t>(level);
    return (set & old) == 0 ? set : (set & ~old) | TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;
}

}  // namespace

TRITONSERVER_InferenceTrace::TRITONSERVER_InferenceTrace(TRITONSERVER_InferenceTraceLevel trace_level,
                                                         std::uint64_t parent, const TraceCallbacks& user_callbacks)
    : id(next_id()), parent_id(parent), level(modern(trace_level)), callbacks(user_callbacks) {}

void TRITONSERVER_InferenceTrace::report(TRITONSERVER_InferenceTraceActivity activity) {
    if ((level & TRITONSERVER_TRACE_LEVEL_TIMESTAMPS) != 0 && callbacks.activity != nullptr) {
        callbacks.activity(this, activity, now(), callbacks.user);
    }
}

void TRITONSERVER_InferenceTrace::report_tensor(TRITONSERVER_InferenceTraceActivity activity, const std::string& tensor,
                                                TRITONSERVER_DataType data_type, const void* base,
                                                std::size_t byte_size, const std::int64_t* shape, std::size_t rank,
                                                TRITONSERVER_MemoryType memory_type, std::int64_t memory_type_id) {
    if ((level & TRITONSERVER_TRACE_LEVEL_TENSORS) != 0 && callbacks.tensor_activity != nullptr) {
        callbacks.tensor_activity(this, activity, tensor.c_str(), data_type, base, byte_size, shape, rank, memory_type,
                                  memory_type_id, callbacks.user);
    }
}

void TRITONSERVER_InferenceTrace::take() {
    if (taken.exchange(true)) {
        breach(describe(this, type_name) + " is submitted with a second request while it is in use");
    }
}

void TRITONSERVER_InferenceTrace::give_back() {
    taken.store(false);
    callbacks.release(this, callbacks.user);
}

TRITONSERVER_InferenceTrace* TRITONSERVER_InferenceTrace::spawn_child() const {
    auto* const child =
        new TRITONSERVER_InferenceTrace(static_cast<TRITONSERVER_InferenceTraceLevel>(level), id, callbacks);
    child->request_id = request_id;
    child->context = context;
    return child;
}

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_InferenceTraceNew(TRITONSERVER_InferenceTrace** trace,
                                                   TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
                                                   TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
                                                   TRITONSERVER_InferenceTraceReleaseFn_t release_fn,
                                                   void* trace_userp) {
    return TRITONSERVER_InferenceTraceTensorNew(trace, level, parent_id, activity_fn, nullptr, release_fn, trace_userp);
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceTensorNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
    TRITONSERVER_InferenceTraceActivityFn_t activity_fn,
    TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn, TRITONSERVER_InferenceTraceReleaseFn_t release_fn,
    void* trace_userp) {
    if (release_fn == nullptr) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "a trace needs a release function");
    }
    *trace =
        new TRITONSERVER_InferenceTrace(level, parent_id, {activity_fn, tensor_activity_fn, release_fn, trace_userp});
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceReportActivity(TRITONSERVER_InferenceTrace* trace, uint64_t timestamp,
                                                              const char* activity_name) {
    TRITONSERVER_InferenceTrace& target = live(trace);
    if (*activity_name == '\0') {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "an activity needs a name");
    }
    if ((target.level & TRITONSERVER_TRACE_LEVEL_TIMESTAMPS) != 0 && target.callbacks.activity != nullptr) {
        target.callbacks.activity(trace, TRITONSERVER_TRACE_CUSTOM_ACTIVITY, timestamp, target.callbacks.user);
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceDelete(TRITONSERVER_InferenceTrace* trace) {
    if (live(trace).taken.load()) {
        breach(describe(trace, "InferenceTrace") + " is deleted while its request is in flight");
    }
    delete trace;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceId(TRITONSERVER_InferenceTrace* trace, uint64_t* id) {
    *id = live(trace).id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceParentId(TRITONSERVER_InferenceTrace* trace, uint64_t* parent_id) {
    *parent_id = live(trace).parent_id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelName(TRITONSERVER_InferenceTrace* trace, const char** model_name) {
    *model_name = live(trace).model_name.c_str();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceModelVersion(TRITONSERVER_InferenceTrace* trace,
                                                            int64_t* model_version) {
    *model_version = live(trace).model_version;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceRequestId(TRITONSERVER_InferenceTrace* trace, const char** request_id) {
    *request_id = live(trace).request_id.c_str();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSpawnChildTrace(TRITONSERVER_InferenceTrace* trace,
                                                               TRITONSERVER_InferenceTrace** child_trace) {
    *child_trace = live(trace).spawn_child();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceSetContext(TRITONSERVER_InferenceTrace* trace,
                                                          const char* trace_context) {
    live(trace).context = trace_context;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceTraceContext(TRITONSERVER_InferenceTrace* trace, const char** trace_context) {
    *trace_context = live(trace).context.c_str();
    return nullptr;
}

}  // namespace fake_triton::implementation
