// Who is told of what becomes of one request in flight.
#pragma once

#include <cstdint>
#include <memory>

#include "core/inference_response.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

/// One for each submission. The last response (flag FINAL) and the release (flag ALL) can come at the same time, on two
/// threads; when both have come, nothing else does.
class RequestObserver : public RefCounted {
  public:
    /// `flags`: bits of TRITONSERVER_ResponseCompleteFlag. When the last response and the release have come, the
    /// request can be sent again while these are still being told.
    virtual void on_response(std::unique_ptr<InferenceResponse> response, std::uint32_t flags) noexcept = 0;

    /// `flags`: bits of TRITONSERVER_RequestReleaseFlag.
    virtual void on_release(std::uint32_t flags) noexcept = 0;

    /// The submission failed: nothing comes at all.
    virtual void on_failure() noexcept = 0;
};

}  // namespace triton_inprocess
