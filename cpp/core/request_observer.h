// Who is told of what becomes of one request in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/inference_response.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

/// One for each submission. The last response and the release can come at the same time, on two threads.
class RequestObserver : public RefCounted {
  public:
    /// `flags`: bits of TRITONSERVER_ResponseCompleteFlag. When the last response and the release have come, the
    /// request can be sent again while these are still being told.
    virtual void on_response(std::unique_ptr<InferenceResponse> response, std::uint32_t flags) noexcept = 0;

    /// `flags`: bits of TRITONSERVER_RequestReleaseFlag.
    virtual void on_release(std::uint32_t flags) noexcept = 0;

    /// Nothing comes any more; also after a submission that failed. With or without the GIL.
    virtual void on_end() noexcept = 0;

    /// To be called when the last response was told, and when the release was.
    void told_one() noexcept {
        if (to_tell_.fetch_sub(1) == 1) {
            on_end();
        }
    }

  private:
    std::atomic<int> to_tell_{2};
};

}  // namespace triton_inprocess
