// A trace of one inference: Triton tells its callbacks what happens to the request that it was sent with.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "abi/types.h"
#include "core/trace_tree.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

/// Its C trace is deleted when Triton releases it or, if it was never sent, with this object. What is known of it can
/// be read ever after.
class InferenceTrace final : public RefCounted {
  public:
    /// The root of a tree of its own. `level`: bits of TRITONSERVER_InferenceTraceLevel.
    static Ref<InferenceTrace> make(std::uint32_t level, std::uint64_t parent_id, bool with_tensors,
                                    Ref<TraceObserver> observer);

    std::uint64_t id() const;
    std::uint64_t parent_id() const;
    std::string model_name() const;
    std::int64_t model_version() const;
    std::string request_id() const;
    std::string context() const;
    void set_context(const std::string& context);
    void report_activity(std::uint64_t timestamp_ns, const std::string& name);
    Ref<InferenceTrace> spawn_child();

    /// Gives the C trace to Triton with a request; throws UNAVAILABLE for one that was given before.
    TRITONSERVER_InferenceTrace* hand_over();

    /// The submission failed: the C trace is deleted, unless Triton has released it in spite of that.
    void submission_failed() noexcept;

    TraceTree& tree() const noexcept { return *tree_; }

  private:
    friend class TraceTree;
    using Shared = std::shared_ptr<TRITONSERVER_InferenceTrace>;

    /// What is remembered of a C trace that is gone; a function that the library lacks leaves nothing.
    struct Facts {
        std::uint64_t id = 0;
        std::uint64_t parent_id = 0;
        std::string model_name;
        std::int64_t model_version = -1;
        std::optional<std::string> request_id;
        std::optional<std::string> context;
    };

    InferenceTrace(Ref<TraceTree> tree, TRITONSERVER_InferenceTrace* trace, bool sent);

    static Ref<InferenceTrace> unsent(Ref<TraceTree> tree, TRITONSERVER_InferenceTrace* trace);

    /// For a trace that the tree adds to its members itself.
    static Ref<InferenceTrace> spawned_by_triton(Ref<TraceTree> tree, TRITONSERVER_InferenceTrace* trace);

    /// Null when the C trace is gone. Whoever holds the result keeps it from being deleted.
    Shared shared() const;
    Shared require_alive() const;

    /// Lets the C trace go.
    void expire() noexcept;

    const Ref<TraceTree> tree_;
    mutable std::mutex mutex_;
    Shared trace_;
    Facts facts_;
    std::atomic<bool> sent_;
};

}  // namespace triton_inprocess
