// Responses for a coroutine.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/held_object.h"
#include "bindings/pending_request.h"
#include "core/one_response.h"

namespace triton_inprocess {

/// While somebody waits, the future holds the iterator and the iterator the future; a future that is cancelled lets go
/// of the iterator, so that a task that is cancelled takes its request with it.
class AsyncResponseIterator {
  public:
    explicit AsyncResponseIterator(PendingRequest request) : request_(std::move(request)) {}
    ~AsyncResponseIterator() { stop_waiting(); }
    AsyncResponseIterator(AsyncResponseIterator&&) noexcept = default;
    AsyncResponseIterator(const AsyncResponseIterator&) = delete;
    AsyncResponseIterator& operator=(const AsyncResponseIterator&) = delete;
    AsyncResponseIterator& operator=(AsyncResponseIterator&&) = delete;

    /// A future of the running loop for the next response. `self` is this object's Python object.
    nanobind::object next(nanobind::handle self);

    /// What `await` of the iterator itself waits for: the response of a model that sends one. Throws UNSUPPORTED after
    /// the iteration has begun.
    nanobind::object result(nanobind::handle self);

    void cancel() { request_.cancel(); }
    const PendingRequest& request() const noexcept { return request_; }

    /// Abandons the request; whoever waits is told that it is closed.
    void close();

    /// Whoever waited does not any more. What was to be the one response is nobody's then; of several, the next one to
    /// ask gets it.
    void forget() noexcept;

    /// The deadline has passed: abandons the request, and tells whoever waits.
    void expire();

    /// Completes the future with the response that has come; a future that was cancelled in the meantime leaves it
    /// for the next one. False when no response is there.
    bool complete() noexcept;

    const Ref<ResponseQueue>& queue() const noexcept { return request_.queue(); }
    std::array<PyObject*, 3> held() const noexcept { return {request_.model(), future_.ptr(), hub_.ptr()}; }
    void let_go() noexcept;

  private:
    nanobind::object wait(nanobind::handle self);
    void stop_waiting() noexcept;

    /// Gives the future what `result` returns, or the error that it throws.
    template <typename Result>
    void settle(const nanobind::object& future, Result result);

    PendingRequest request_;
    HeldObject future_;               ///< Pending or just completed; invalid while nobody waits.
    HeldObject hub_;                  ///< Of the loop in which somebody waits.
    std::optional<OneResponse> one_;  ///< If the one response is waited for.
    bool begun_ = false;
};

void register_async_response_iterator(nanobind::module_& module);

}  // namespace triton_inprocess
