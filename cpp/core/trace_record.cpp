#include "core/trace_record.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/trace_queue.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

std::optional<std::string> request_id_of(const InferenceTrace& trace) {
    try {
        return trace.request_id();
    } catch (const Error&) {  // an older library cannot tell
        return std::nullopt;
    }
}

void read_facts(TraceRecord::Node& node, const InferenceTrace& trace) {
    node.parent_id = trace.parent_id();
    if (std::string name = trace.model_name(); !name.empty()) {
        node.model_name = std::move(name);
        node.model_version = trace.model_version();  // before, older libraries have never set it
    }
    if (std::optional<std::string> id = request_id_of(trace); id && !id->empty()) {
        node.request_id = std::move(id);
    }
}

/// The memory is gone when the callback returns.
Ref<Buffer> copy_of(const TracedTensor& tensor) noexcept {
    if (tensor.memory_type == TRITONSERVER_MEMORY_GPU) {
        return nullptr;
    }
    try {
        Ref<Buffer> copy = HostBufferPool::instance().allocate(tensor.byte_size);
        if (tensor.byte_size != 0) {
            std::memcpy(copy->data(), tensor.data, tensor.byte_size);
        }
        return copy;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

}  // namespace

TraceRecord::TraceRecord(bool with_tensors) : TraceRecord(with_tensors, nullptr) {}

TraceRecord::TraceRecord(bool with_tensors, Ref<TraceQueue> queue)
    : with_tensors_(with_tensors), queue_(std::move(queue)) {}

TraceRecord::~TraceRecord() = default;

Ref<InferenceTrace> TraceRecord::begin(const Request& request) {
    {
        const std::scoped_lock guard(mutex_);
        if (submitting_ != 0 || root_id_ != 0) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the trace was sent with a request before: a trace is for one");
        }
        ++submitting_;
    }
    Ref<InferenceTrace> root;
    try {
        constexpr std::uint32_t timestamps = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;
        constexpr std::uint32_t all = timestamps | TRITONSERVER_TRACE_LEVEL_TENSORS;
        root = InferenceTrace::make(with_tensors_ ? all : timestamps, 0, with_tensors_, Ref<TraceObserver>(this));
    } catch (...) {
        const std::scoped_lock guard(mutex_);
        --submitting_;
        throw;
    }
    const std::scoped_lock guard(mutex_);
    start_node(*root, request);
    root_id_ = root->id();
    root_ = root;
    if (queue_) {
        queue_->expect();
    }
    return root;
}

void TraceRecord::begin_child(const Ref<InferenceTrace>& child, const Request& request) {
    const std::scoped_lock guard(mutex_);
    if (std::find(begun_.begin(), begun_.end(), child->id()) != begun_.end()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the trace was sent with a request before: a trace is for one");
    }
    ++submitting_;
    start_node(*child, request);
}

void TraceRecord::start_node(const InferenceTrace& trace, const Request& request) {
    begun_.push_back(trace.id());
    Node& started = node(trace);
    started.request_id = request.id;
    started.model_name = request.model_name;
    started.model_version = request.model_version;
}

void TraceRecord::sent() noexcept {
    {
        const std::scoped_lock guard(mutex_);
        --submitting_;
    }
    finish_if_over();
}

void TraceRecord::failed(const Ref<InferenceTrace>& trace, const Error& error) noexcept {
    {
        const std::scoped_lock guard(mutex_);
        Node& failing = node(*trace);
        read_facts(failing, *trace);
        failing.error = error;
    }
    trace->submission_failed();  // one that was not even given to Triton ends here
    sent();
}

Ref<InferenceTrace> TraceRecord::spawn_child() {
    Ref<InferenceTrace> root;
    {
        const std::scoped_lock guard(mutex_);
        root = root_;
    }
    if (!root) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the trace is not in flight: it can have no child");
    }
    return root->spawn_child();
}

bool TraceRecord::done() const noexcept {
    const std::scoped_lock guard(mutex_);
    return done_;
}

bool TraceRecord::wait_for(std::chrono::milliseconds time) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return done_; });
}

TraceRecord::Snapshot TraceRecord::snapshot() const {
    const std::scoped_lock guard(mutex_);
    return {root_id_, done_, nodes_};
}

TraceRecord::Node& TraceRecord::node(const InferenceTrace& trace) {
    const std::uint64_t id = trace.id();
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [id](const Node& each) { return each.id == id; });
    if (found != nodes_.end()) {
        return *found;
    }
    Node& added = nodes_.emplace_back();
    added.id = id;
    read_facts(added, trace);
    return added;
}

void TraceRecord::on_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                              std::uint64_t timestamp_ns) noexcept {
    const std::scoped_lock guard(mutex_);
    node(*trace).activities.push_back({activity, timestamp_ns});
}

void TraceRecord::on_tensor_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                                     const TracedTensor& tensor) noexcept {
    Ref<Buffer> copy = copy_of(tensor);
    const std::scoped_lock guard(mutex_);
    node(*trace).tensors.push_back({activity, tensor.name, tensor.data_type,
                                    std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.rank),
                                    tensor.byte_size, tensor.memory_type, tensor.memory_type_id, std::move(copy)});
}

void TraceRecord::on_release(const Ref<InferenceTrace>& trace) noexcept {
    const std::scoped_lock guard(mutex_);
    // The names may have come after the first activity.
    read_facts(node(*trace), *trace);
}

void TraceRecord::on_end() noexcept {
    Ref<InferenceTrace> root;
    {
        const std::scoped_lock guard(mutex_);
        root = std::move(root_);
        root_ = nullptr;
        ended_ = true;
    }
    finish_if_over();
}

void TraceRecord::finish_if_over() noexcept {
    Ref<TraceQueue> queue;
    {
        const std::scoped_lock guard(mutex_);
        if (done_ || !ended_ || submitting_ != 0) {
            return;
        }
        done_ = true;
        queue = std::move(queue_);
        queue_ = nullptr;
        changed_.notify_all();
    }
    if (queue) {
        queue->push(Ref<TraceRecord>(this));
    }
}

}  // namespace triton_inprocess
