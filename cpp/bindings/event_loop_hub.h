// The iterators that one event loop waits for, and the descriptor that wakes it.
#pragma once

#include <nanobind/nanobind.h>

#include <unordered_set>

#include "core/completion_hub.h"

namespace triton_inprocess {

class AsyncResponseIterator;

class EventLoopHub {
  public:
    int fileno() const noexcept { return hub_->descriptor(); }

    /// Hands every response that has come to the future that waits for it.
    void drain();

    /// Has the iterator complete its future when its response has come; until then, or until it is forgotten, it must
    /// live. False when a response is there already.
    bool wait_for(AsyncResponseIterator& iterator);
    void forget(AsyncResponseIterator& iterator) noexcept;

  private:
    Ref<CompletionHub> hub_ = make_ref<CompletionHub>();
    std::unordered_set<AsyncResponseIterator*> waiting_;
};

void register_event_loop_hub(nanobind::module_& module);

}  // namespace triton_inprocess
