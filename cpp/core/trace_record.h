// What a tree of traces has told, kept for whoever looks later.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/inference_trace.h"
#include "core/trace_observer.h"
#include "runtime/error.h"
#include "tensor/buffer.h"

namespace triton_inprocess {

class TraceQueue;

/// Filled on Triton's threads, which wait for nobody here. Done when every trace of the tree is released and the
/// submission has returned: who sees it done sees all of it, the error of a failed submission too.
class TraceRecord final : public TraceObserver {
  public:
    struct Activity {
        TRITONSERVER_InferenceTraceActivity activity;
        std::uint64_t timestamp_ns;
    };

    struct TensorActivity {
        TRITONSERVER_InferenceTraceActivity activity;
        std::string name;
        TRITONSERVER_DataType data_type;
        std::vector<std::int64_t> shape;
        std::size_t byte_size;
        TRITONSERVER_MemoryType memory_type;
        std::int64_t memory_type_id;
        Ref<Buffer> copy;  ///< Null for a GPU's memory, and where memory ran short.
    };

    /// One trace of the tree.
    struct Node {
        std::uint64_t id = 0;
        std::uint64_t parent_id = 0;
        std::string model_name;
        std::int64_t model_version = -1;
        std::optional<std::string> request_id;
        std::vector<Activity> activities;
        std::vector<TensorActivity> tensors;
        std::optional<Error> error;  ///< Of the submission.
    };

    struct Snapshot {
        std::uint64_t root_id = 0;  ///< 0 while nothing was sent.
        bool done = false;
        std::vector<Node> nodes;
    };

    explicit TraceRecord(bool with_tensors);

    /// One that goes to the queue when it is done.
    TraceRecord(bool with_tensors, Ref<TraceQueue> queue);
    ~TraceRecord() override;

    /// What is known of a request before Triton tells of it.
    struct Request {
        std::string id;
        std::string model_name;
        std::int64_t model_version = -1;
    };

    /// What whoever has it made wants back with it. Before it is sent.
    void attach(Ref<RefCounted> attachment) noexcept { attachment_ = std::move(attachment); }
    const Ref<RefCounted>& attachment() const noexcept { return attachment_; }

    /// A submission begins: the root for the one request that this is for. Throws UNAVAILABLE for a second one.
    Ref<InferenceTrace> begin(const Request& request);

    /// The same with a child; likewise.
    void begin_child(const Ref<InferenceTrace>& child, const Request& request);

    /// And ends, well or not; a trace that failed is deleted, unless it is already.
    void sent() noexcept;
    void failed(const Ref<InferenceTrace>& trace, const Error& error) noexcept;

    /// A trace below the root, for a request that the traced one leads to. Throws UNAVAILABLE when the root is not in
    /// flight, and UNSUPPORTED before C API 1.24.
    Ref<InferenceTrace> spawn_child();

    bool done() const noexcept;

    /// Sleeps until it is done (true) or the time is over (false).
    bool wait_for(std::chrono::milliseconds time) noexcept;

    /// What was told so far.
    Snapshot snapshot() const;

    void on_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                     std::uint64_t timestamp_ns) noexcept override;
    void on_tensor_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                            const TracedTensor& tensor) noexcept override;
    void on_release(const Ref<InferenceTrace>& trace) noexcept override;
    void on_end() noexcept override;

  private:
    void start_node(const InferenceTrace& trace, const Request& request);
    Node& node(const InferenceTrace& trace);
    void finish_if_over() noexcept;

    const bool with_tensors_;
    Ref<RefCounted> attachment_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Ref<TraceQueue> queue_;
    Ref<InferenceTrace> root_;  ///< In flight; a cycle, which the end of the tree or a failure breaks.
    std::uint64_t root_id_ = 0;
    std::vector<std::uint64_t> begun_;  ///< Traces that were sent with a request.
    std::vector<Node> nodes_;
    int submitting_ = 0;
    bool ended_ = false;
    bool done_ = false;
};

}  // namespace triton_inprocess
