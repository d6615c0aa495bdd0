// What both iterators know of the request whose responses they hand out.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "core/request_block.h"
#include "core/response_queue.h"

namespace triton_inprocess {

class PendingRequest {
  public:
    PendingRequest(Ref<ResponseQueue> queue, Ref<RequestBlock> block, nanobind::object model, bool raise_on_error);
    ~PendingRequest() { let_go(); }
    PendingRequest(PendingRequest&&) noexcept = default;
    PendingRequest(const PendingRequest&) = delete;
    PendingRequest& operator=(const PendingRequest&) = delete;
    PendingRequest& operator=(PendingRequest&&) = delete;

    const Ref<ResponseQueue>& queue() const noexcept { return queue_; }
    const Ref<RequestBlock>& block() const noexcept { return block_; }

    /// Whether the final response was handed out.
    bool finished() const noexcept { return !block_; }

    /// The Python object for a response that has come; throws the response's error if that is wanted.
    nanobind::object deliver(std::unique_ptr<InferenceResponse> response);

    /// Asks Triton to cancel the request; nothing happens when it is completed. Throws UNSUPPORTED before C API 1.25.
    void cancel();

    PyObject* model() const noexcept { return model_.ptr(); }
    void drop_model() noexcept { model_.reset(); }

  private:
    void let_go() noexcept;

    Ref<ResponseQueue> queue_;
    Ref<RequestBlock> block_;  ///< Null once the final response was handed out.
    nanobind::object model_;
    bool raise_on_error_;
};

}  // namespace triton_inprocess
