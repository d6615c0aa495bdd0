// What a coroutine awaits: the next response of an iterator, or the one.
#pragma once

#include <nanobind/nanobind.h>

#include <array>

#include "bindings/held_object.h"

namespace triton_inprocess {

class AsyncResponseIterator;
class EventLoopHub;

/// Both the iterator that drives `await` and the future that the task then waits for. asyncio's own future would cost
/// several microseconds for each response: to be made, filled, and to have its callback scheduled; here the hub
/// continues the task itself.
class ResponseWait {
  public:
    /// Throws RuntimeError without a running event loop, and UNAVAILABLE when somebody waits already. `iterator` is an
    /// AsyncResponseIterator.
    explicit ResponseWait(nanobind::object iterator);
    ~ResponseWait() { end(); }
    ResponseWait(const ResponseWait&) = delete;
    ResponseWait(ResponseWait&&) = delete;
    ResponseWait& operator=(const ResponseWait&) = delete;
    ResponseWait& operator=(ResponseWait&&) = delete;

    /// Goes on: the response if it is there; invalid while it is waited for.
    nanobind::object send(nanobind::handle self);

    /// Nobody waits any more: an exception was thrown into the coroutine, or it was closed.
    void give_up() noexcept;

    // As a future.
    enum class State { fresh, waiting, due, cancelled, over };
    State state() const noexcept { return state_; }
    bool blocking() const noexcept { return blocking_; }
    void set_blocking(bool value) noexcept { blocking_ = value; }
    nanobind::handle loop() const noexcept { return loop_; }

    /// Has `callback` called with this object, in `context`, when there is something to go on for. For one callback.
    void add_done_callback(nanobind::object callback, nanobind::object context);

    /// Throws CancelledError if it was cancelled.
    void result() const;

    /// False if nobody waits.
    bool cancel(nanobind::object message);

    /// Whether it is that hub which wakes it.
    bool waits_with(const EventLoopHub& hub) const noexcept;

    /// There is something to go on for. Called by the event loop itself, outside of any task.
    void wake();

    /// The same, from anywhere.
    void wake_soon();

    /// The deadline's timer has rung.
    void expire();

    std::array<PyObject*, 7> held() const noexcept {
        return {iterator_.ptr(), loop_.ptr(),    hub_.ptr(),    timer_.ptr(),
                callback_.ptr(), context_.ptr(), message_.ptr()};
    }
    void let_go() noexcept;

  private:
    AsyncResponseIterator& iterator() const noexcept;
    bool watch(nanobind::handle self);
    void unwatch() noexcept;
    void end() noexcept;

    State state_ = State::fresh;
    bool blocking_ = false;
    PyObject* self_ = nullptr;  ///< This object's Python object, borrowed, while it waits.
    HeldObject iterator_;
    HeldObject loop_;
    HeldObject hub_;
    HeldObject timer_;
    HeldObject callback_;
    HeldObject context_;
    HeldObject message_;  ///< Of the cancellation.
};

/// A ResponseWait for an AsyncResponseIterator.
nanobind::object make_response_wait(nanobind::handle iterator);

void register_response_wait(nanobind::module_& module);

}  // namespace triton_inprocess
