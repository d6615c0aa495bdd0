#include "core/inference_trace.h"

#include <utility>

#include "core/c_text.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

template <typename Value>
Value read(TRITONSERVER_Error* (*getter)(TRITONSERVER_InferenceTrace*, Value*), TRITONSERVER_InferenceTrace* trace) {
    Value value{};
    check(getter(trace, &value));
    return value;
}

std::string read_text(TRITONSERVER_Error* (*getter)(TRITONSERVER_InferenceTrace*, const char**),
                      TRITONSERVER_InferenceTrace* trace) {
    const char* const text = read(getter, trace);
    return text != nullptr ? text : "";
}

std::optional<std::string> text_if_known(TRITONSERVER_Error* (*getter)(TRITONSERVER_InferenceTrace*, const char**),
                                         TRITONSERVER_InferenceTrace* trace) {
    try {
        return read_text(getter, trace);
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

InferenceTrace::InferenceTrace(Ref<TraceTree> tree, TRITONSERVER_InferenceTrace* trace, bool sent)
    : tree_(std::move(tree)),
      // In this order: the address may be that of another trace as soon as this one is deleted.
      trace_(trace,
             [tree = tree_](TRITONSERVER_InferenceTrace* last) {
                 tree->leave(last);
                 ignore(api().TRITONSERVER_InferenceTraceDelete(last));
             }),
      sent_(sent) {}

Ref<InferenceTrace> InferenceTrace::make(std::uint32_t level, std::uint64_t parent_id, bool with_tensors,
                                         Ref<TraceObserver> observer) {
    Ref<TraceTree> tree = make_ref<TraceTree>(level, std::move(observer));
    TRITONSERVER_InferenceTrace* const root = tree->make_root(parent_id, with_tensors);
    return unsent(std::move(tree), root);
}

Ref<InferenceTrace> InferenceTrace::unsent(Ref<TraceTree> tree, TRITONSERVER_InferenceTrace* trace) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): its constructor is private
    Ref<InferenceTrace> made(new InferenceTrace(std::move(tree), trace, false));
    made->tree_->join(trace, made.get());
    return made;
}

Ref<InferenceTrace> InferenceTrace::spawned_by_triton(Ref<TraceTree> tree, TRITONSERVER_InferenceTrace* trace) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): its constructor is private
    return Ref<InferenceTrace>(new InferenceTrace(std::move(tree), trace, true));
}

InferenceTrace::Shared InferenceTrace::shared() const {
    const std::scoped_lock guard(mutex_);
    return trace_;
}

InferenceTrace::Shared InferenceTrace::require_alive() const {
    Shared trace = shared();
    if (!trace) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the trace is released: it can be read, but not used any more");
    }
    return trace;
}

std::uint64_t InferenceTrace::id() const {
    const Shared trace = shared();
    return trace ? read(api().TRITONSERVER_InferenceTraceId, trace.get()) : facts_.id;
}

std::uint64_t InferenceTrace::parent_id() const {
    const Shared trace = shared();
    return trace ? read(api().TRITONSERVER_InferenceTraceParentId, trace.get()) : facts_.parent_id;
}

std::string InferenceTrace::model_name() const {
    const Shared trace = shared();
    return trace ? read_text(api().TRITONSERVER_InferenceTraceModelName, trace.get()) : facts_.model_name;
}

std::int64_t InferenceTrace::model_version() const {
    const Shared trace = shared();
    return trace ? read(api().TRITONSERVER_InferenceTraceModelVersion, trace.get()) : facts_.model_version;
}

std::string InferenceTrace::request_id() const {
    const Shared trace = shared();
    // Without the fact the library lacks the function, and what stands in for it says so.
    return !trace && facts_.request_id ? *facts_.request_id
                                       : read_text(api().TRITONSERVER_InferenceTraceRequestId, trace.get());
}

std::string InferenceTrace::context() const {
    const Shared trace = shared();
    return !trace && facts_.context ? *facts_.context
                                    : read_text(api().TRITONSERVER_InferenceTraceContext, trace.get());
}

void InferenceTrace::set_context(const std::string& context) {
    check(api().TRITONSERVER_InferenceTraceSetContext(require_alive().get(), c_text(context, "context")));
}

void InferenceTrace::report_activity(std::uint64_t timestamp_ns, const std::string& name) {
    check(api().TRITONSERVER_InferenceTraceReportActivity(require_alive().get(), timestamp_ns,
                                                          c_text(name, "activity_name")));
}

Ref<InferenceTrace> InferenceTrace::spawn_child() {
    const Shared trace = require_alive();
    TRITONSERVER_InferenceTrace* child = nullptr;
    check(api().TRITONSERVER_InferenceTraceSpawnChildTrace(trace.get(), &child));
    return unsent(tree_, child);
}

TRITONSERVER_InferenceTrace* InferenceTrace::hand_over() {
    const Shared trace = require_alive();
    if (sent_.exchange(true)) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the trace was sent with a request before: a trace is for one");
    }
    tree_->keep(trace.get());
    return trace.get();
}

void InferenceTrace::submission_failed() noexcept {
    expire();
}

void InferenceTrace::expire() noexcept {
    Shared last;
    {
        const std::scoped_lock guard(mutex_);
        if (!trace_) {
            return;
        }
        TRITONSERVER_InferenceTrace* const trace = trace_.get();
        try {
            facts_ = {read(api().TRITONSERVER_InferenceTraceId, trace),
                      read(api().TRITONSERVER_InferenceTraceParentId, trace),
                      read_text(api().TRITONSERVER_InferenceTraceModelName, trace),
                      read(api().TRITONSERVER_InferenceTraceModelVersion, trace),
                      text_if_known(api().TRITONSERVER_InferenceTraceRequestId, trace),
                      text_if_known(api().TRITONSERVER_InferenceTraceContext, trace)};
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
            // What cannot be read is not remembered.
        }
        last = std::move(trace_);
        trace_ = nullptr;
    }
    // Who still uses the C trace, to report an activity, keeps it and the tree for as long.
    const Ref<InferenceTrace> self = tree_->let_go(last.get());
}

}  // namespace triton_inprocess
