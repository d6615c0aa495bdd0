// Responses for a thread that waits.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <utility>

#include "bindings/pending_request.h"

namespace triton_inprocess {

class ResponseIterator {
  public:
    explicit ResponseIterator(PendingRequest request) : request_(std::move(request)) {}

    /// Waits with the GIL released, and still answers Ctrl-C.
    nanobind::object next();
    void cancel() { request_.cancel(); }
    const PendingRequest& request() const noexcept { return request_; }

    std::array<PyObject*, 1> held() const noexcept { return {request_.model()}; }
    void let_go() noexcept { request_.drop_model(); }

  private:
    PendingRequest request_;
};

void register_response_iterator(nanobind::module_& module);

}  // namespace triton_inprocess
