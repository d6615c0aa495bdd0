// Responses for a coroutine.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <utility>

#include "bindings/pending_request.h"

namespace triton_inprocess {

class AsyncResponseIterator {
  public:
    explicit AsyncResponseIterator(PendingRequest request) : request_(std::move(request)) {}

    /// A future of the running loop for the next response. `self` is this object's Python object.
    nanobind::object next(nanobind::object self);
    void cancel() { request_.cancel(); }
    const PendingRequest& request() const noexcept { return request_; }

    /// Completes the future with the response that has come; a future that was cancelled in the meantime leaves it
    /// for the next one. False when no response is there.
    bool complete() noexcept;

    const Ref<ResponseQueue>& queue() const noexcept { return request_.queue(); }
    std::array<PyObject*, 2> held() const noexcept { return {request_.model(), future_.ptr()}; }
    void let_go() noexcept;

  private:
    PendingRequest request_;
    nanobind::object future_;  ///< Pending or just completed; invalid while nobody waits.
};

void register_async_response_iterator(nanobind::module_& module);

}  // namespace triton_inprocess
