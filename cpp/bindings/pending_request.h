// What both iterators know of the request whose responses they hand out.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "core/request_block.h"
#include "core/response_queue.h"

namespace triton_inprocess {

struct PendingRequest {
    Ref<ResponseQueue> queue;
    Ref<RequestBlock> block;  ///< Null once the final response was handed out.
    nanobind::object model;
    bool raise_on_error = true;

    bool finished() const noexcept { return !block; }

    /// The Python object for a response that has come; throws the response's error if that is wanted.
    nanobind::object deliver(std::unique_ptr<InferenceResponse> response);

    /// Asks Triton to cancel the request; nothing happens when it is completed.
    void cancel();
};

}  // namespace triton_inprocess
