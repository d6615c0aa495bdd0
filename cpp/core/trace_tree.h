// Traces that share their callbacks: one that was made, and all that Triton or a user spawns from it.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "abi/types.h"
#include "core/trace_observer.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

/// Lives until the last of its traces is gone, which need not be the root. Triton spawns traces without telling: the
/// tree learns of them by their first activity, which is why timestamps are always reported to it.
class TraceTree final : public RefCounted {
  public:
    TraceTree(std::uint32_t level, Ref<TraceObserver> observer);

    /// The C trace for the root.
    TRITONSERVER_InferenceTrace* make_root(std::uint64_t parent_id, bool with_tensors);

    /// Every InferenceTrace joins when it is made and leaves when its C trace is no more.
    void join(const TRITONSERVER_InferenceTrace* c_trace, InferenceTrace* trace);
    void leave(const TRITONSERVER_InferenceTrace* c_trace) noexcept;

    /// From now on Triton has the trace: the tree keeps it until it is released.
    void keep(const TRITONSERVER_InferenceTrace* c_trace);
    Ref<InferenceTrace> let_go(const TRITONSERVER_InferenceTrace* c_trace) noexcept;

    /// Whether Triton has none of its traces, and each is referred to by one owner only.
    bool unsent() const noexcept;

  private:
    static void on_activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                            std::uint64_t timestamp_ns, void* user) noexcept;
    static void on_tensor_activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                                   const char* name, TRITONSERVER_DataType data_type, const void* base,
                                   std::size_t byte_size, const std::int64_t* shape, std::uint64_t dim_count,
                                   TRITONSERVER_MemoryType memory_type, std::int64_t memory_type_id,
                                   void* user) noexcept;
    static void on_release(TRITONSERVER_InferenceTrace* trace, void* user) noexcept;

    struct Member {
        InferenceTrace* trace;
        Ref<InferenceTrace> kept;  ///< Null while Triton does not have it.
    };

    /// The trace for a C trace, also for one that was not seen before.
    Ref<InferenceTrace> member(TRITONSERVER_InferenceTrace* c_trace);

    // A number instead of an address for Triton: a trace that comes when the tree is gone must not find another there.
    const std::uintptr_t id_;
    const std::uint32_t level_;
    const Ref<TraceObserver> observer_;
    mutable std::mutex mutex_;
    std::unordered_map<const TRITONSERVER_InferenceTrace*, Member> members_;
};

}  // namespace triton_inprocess
