// What both iterators know of the request whose responses they hand out.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "bindings/deadline.h"
#include "bindings/held_object.h"
#include "core/request_block.h"
#include "core/response_queue.h"

namespace triton_inprocess {

class PendingRequest {
  public:
    PendingRequest(Ref<ResponseQueue> queue, Ref<RequestBlock> block, nanobind::object model, bool raise_on_error,
                   Deadline deadline);
    ~PendingRequest() { abandon(); }
    PendingRequest(PendingRequest&&) noexcept = default;
    PendingRequest(const PendingRequest&) = delete;
    PendingRequest& operator=(const PendingRequest&) = delete;
    PendingRequest& operator=(PendingRequest&&) = delete;

    const Ref<ResponseQueue>& queue() const noexcept { return queue_; }
    const Ref<RequestBlock>& block() const noexcept { return block_; }
    const Deadline& deadline() const noexcept { return deadline_; }

    /// Whether the final response was handed out, or nobody wants it any more.
    bool finished() const noexcept { return !block_; }

    /// The Python object for a response that has come; throws the response's error if that is wanted.
    nanobind::object deliver(std::unique_ptr<InferenceResponse> response);

    /// Asks Triton to cancel the request; nothing happens when it is completed. Throws UNSUPPORTED before C API 1.25.
    void cancel();

    /// Nobody wants what is still to come: the request is cancelled if nobody else waits for it, and drained silently
    /// where the library cannot cancel. The second time nothing happens.
    void abandon() noexcept;

    /// The deadline has passed: abandons the request and throws TimeoutError.
    [[noreturn]] void expire();

    PyObject* model() const noexcept { return model_.ptr(); }
    void drop_model() noexcept { model_.reset(); }

  private:
    /// Ends the claim; true if it was the last one.
    bool let_go() noexcept;

    Ref<ResponseQueue> queue_;
    Ref<RequestBlock> block_;  ///< Null once it is finished.
    HeldObject model_;
    bool raise_on_error_;
    Deadline deadline_;
};

}  // namespace triton_inprocess
