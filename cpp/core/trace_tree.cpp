#include "core/trace_tree.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "core/inference_trace.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

/// The trees that have traces, by the number that Triton was given for each.
class Trees {
  public:
    static Trees& instance() {
        // Never destroyed: Triton's threads may still trace while the process ends.
        static auto* trees = std::make_unique<Trees>().release();
        return *trees;
    }

    void add(std::uintptr_t id, TraceTree* tree) {
        const std::scoped_lock guard(mutex_);
        trees_.emplace(id, tree);
    }

    Ref<TraceTree> remove(std::uintptr_t id) noexcept {
        const std::scoped_lock guard(mutex_);
        const auto found = trees_.find(id);
        if (found == trees_.end()) {
            return nullptr;
        }
        Ref<TraceTree> tree = std::move(found->second);
        trees_.erase(found);
        return tree;
    }

    Ref<TraceTree> find(void* user) noexcept {
        const std::scoped_lock guard(mutex_);
        const auto found = trees_.find(reinterpret_cast<std::uintptr_t>(user));
        return found == trees_.end() ? Ref<TraceTree>() : found->second;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<std::uintptr_t, Ref<TraceTree>> trees_;
};

std::uintptr_t next_id() noexcept {
    static std::atomic<std::uintptr_t> last{0};
    return ++last;
}

// MIN and MAX are old names for it.
constexpr std::uint32_t timestamps =
    TRITONSERVER_TRACE_LEVEL_MIN | TRITONSERVER_TRACE_LEVEL_MAX | TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;

}  // namespace

TraceTree::TraceTree(std::uint32_t level, Ref<TraceObserver> observer)
    : id_(next_id()), level_(level), observer_(std::move(observer)) {}

TRITONSERVER_InferenceTrace* TraceTree::make_root(std::uint64_t parent_id, bool with_tensors) {
    // Without a function for tensors the library would call none all the same.
    const std::uint32_t told = with_tensors ? level_ : level_ & ~std::uint32_t{TRITONSERVER_TRACE_LEVEL_TENSORS};
    const auto level = static_cast<TRITONSERVER_InferenceTraceLevel>(told | TRITONSERVER_TRACE_LEVEL_TIMESTAMPS);
    void* const user = reinterpret_cast<void*>(id_);  // NOLINT(performance-no-int-to-ptr): Triton takes nothing else
    TRITONSERVER_InferenceTrace* trace = nullptr;
    check(with_tensors ? api().TRITONSERVER_InferenceTraceTensorNew(&trace, level, parent_id, on_activity,
                                                                    on_tensor_activity, on_release, user)
                       : api().TRITONSERVER_InferenceTraceNew(&trace, level, parent_id, on_activity, on_release, user));
    return trace;
}

void TraceTree::join(const TRITONSERVER_InferenceTrace* c_trace, InferenceTrace* trace) {
    {
        const std::scoped_lock guard(mutex_);
        members_.emplace(c_trace, Member{trace, nullptr});
        if (members_.size() != 1) {
            return;
        }
    }
    Trees::instance().add(id_, this);
}

void TraceTree::leave(const TRITONSERVER_InferenceTrace* c_trace) noexcept {
    {
        const std::scoped_lock guard(mutex_);
        members_.erase(c_trace);
        if (!members_.empty()) {
            return;
        }
    }
    const Ref<TraceTree> self = Trees::instance().remove(id_);
    observer_->on_end();
}

void TraceTree::keep(const TRITONSERVER_InferenceTrace* c_trace) {
    const std::scoped_lock guard(mutex_);
    Member& member = members_.at(c_trace);
    member.kept = Ref<InferenceTrace>(member.trace);
}

Ref<InferenceTrace> TraceTree::let_go(const TRITONSERVER_InferenceTrace* c_trace) noexcept {
    const std::scoped_lock guard(mutex_);
    const auto found = members_.find(c_trace);
    return found != members_.end() ? std::move(found->second.kept) : nullptr;
}

bool TraceTree::unsent() const noexcept {
    const std::scoped_lock guard(mutex_);
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& entry) { return !entry.second.kept && entry.second.trace->unique(); });
}

Ref<InferenceTrace> TraceTree::member(TRITONSERVER_InferenceTrace* c_trace) {
    const std::scoped_lock guard(mutex_);
    const auto found = members_.find(c_trace);
    if (found != members_.end()) {
        return Ref<InferenceTrace>(found->second.trace);
    }
    Ref<InferenceTrace> spawned = InferenceTrace::spawned_by_triton(Ref<TraceTree>(this), c_trace);
    members_.emplace(c_trace, Member{spawned.get(), spawned});
    return spawned;
}

void TraceTree::on_activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                            std::uint64_t timestamp_ns, void* user) noexcept {
    const Ref<TraceTree> tree = Trees::instance().find(user);
    if (!tree) {
        return;
    }
    const Ref<InferenceTrace> member = tree->member(trace);
    if ((tree->level_ & timestamps) != 0) {
        tree->observer_->on_activity(member, activity, timestamp_ns);
    }
}

void TraceTree::on_tensor_activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                                   const char* name, TRITONSERVER_DataType data_type, const void* base,
                                   std::size_t byte_size, const std::int64_t* shape, std::uint64_t dim_count,
                                   TRITONSERVER_MemoryType memory_type, std::int64_t memory_type_id,
                                   void* user) noexcept {
    if (const Ref<TraceTree> tree = Trees::instance().find(user)) {
        tree->observer_->on_tensor_activity(
            tree->member(trace), activity,
            {name, data_type, base, byte_size, shape, dim_count, memory_type, memory_type_id});
    }
}

void TraceTree::on_release(TRITONSERVER_InferenceTrace* trace, void* user) noexcept {
    const Ref<TraceTree> tree = Trees::instance().find(user);
    if (!tree) {
        ignore(api().TRITONSERVER_InferenceTraceDelete(trace));
        return;
    }
    const Ref<InferenceTrace> member = tree->member(trace);
    tree->observer_->on_release(member);
    member->expire();
}

}  // namespace triton_inprocess
