// Responses for a thread that waits.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/pending_request.h"
#include "core/one_response.h"

namespace triton_inprocess {

class ResponseIterator {
  public:
    explicit ResponseIterator(PendingRequest request) : request_(std::move(request)) {}

    /// Waits with the GIL released, and still answers Ctrl-C.
    nanobind::object next();

    /// The response of a model that sends one. Throws UNSUPPORTED for more or less, and after the iteration has begun.
    nanobind::object result();

    /// The same if it has come; else invalid. Several calls, and then `result`, may follow each other.
    nanobind::object poll();

    void cancel() { request_.cancel(); }
    void close() noexcept { request_.abandon(); }
    const PendingRequest& request() const noexcept { return request_; }

    std::array<PyObject*, 1> held() const noexcept { return {request_.model()}; }
    void let_go() noexcept { request_.drop_model(); }

  private:
    /// The next response; null when the iteration has ended.
    std::unique_ptr<InferenceResponse> wait();

    /// What `one` makes of it; what it throws ends the request.
    std::unique_ptr<InferenceResponse> add(OneResponse& one, std::unique_ptr<InferenceResponse> response);

    /// What has come of the one response. Throws UNSUPPORTED when the iteration has begun.
    OneResponse& one();

    PendingRequest request_;
    std::optional<OneResponse> one_;  ///< If the one response was asked for.
    bool begun_ = false;
};

void register_response_iterator(nanobind::module_& module);

}  // namespace triton_inprocess
