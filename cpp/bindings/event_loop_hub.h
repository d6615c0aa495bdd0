// The coroutines of one event loop that wait for responses, and the descriptor that wakes it.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "bindings/held_object.h"
#include "core/completion_hub.h"

namespace triton_inprocess {

class ResponseWait;

class EventLoopHub {
  public:
    explicit EventLoopHub(nanobind::handle loop);
    ~EventLoopHub();
    EventLoopHub(const EventLoopHub&) = delete;
    EventLoopHub(EventLoopHub&&) = delete;
    EventLoopHub& operator=(const EventLoopHub&) = delete;
    EventLoopHub& operator=(EventLoopHub&&) = delete;

    int fileno() const noexcept { return hub_->descriptor(); }

    /// Has every coroutine go on whose response has come.
    void drain();

    /// Has `wait` woken when the queue has a response; until then, or until the queue is no longer watched, it must
    /// live. False when a response is there already.
    bool watch(ResponseQueue& queue, ResponseWait& wait) noexcept { return queue.watch(hub_, &wait); }

    /// Whether it is the hub of that loop.
    bool serves(nanobind::handle loop) const;

  private:
    Ref<CompletionHub> hub_ = make_ref<CompletionHub>();
    PyObject* loop_address_;
    HeldObject loop_;  ///< Weak: the loop holds the hub.
};

/// The running event loop and its hub. Throws RuntimeError when none runs.
std::pair<nanobind::object, nanobind::object> running_loop_and_hub();

void register_event_loop_hub(nanobind::module_& module);

}  // namespace triton_inprocess
