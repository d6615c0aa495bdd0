// A point in the work of a GPU's stream that another stream can wait for.
#pragma once

#include "tensor/cuda_device.h"

namespace triton_inprocess {

class CudaEvent {
  public:
    /// The point that `stream`, of the context that is the thread's, has now reached in what it was given.
    CudaEvent(const CudaDevice& device, CUstream stream) : device_(&device) {
        device.driver().check(device.functions().cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING),
                              "cuEventCreate for " + device.name());
        const CUresult result = device.functions().cuEventRecord(event_, stream);
        if (result != CUDA_SUCCESS) {
            destroy();
            device.driver().check(result, "cuEventRecord for " + device.name());
        }
    }
    /// The driver lets go of an event once nothing waits for it any more.
    ~CudaEvent() { destroy(); }
    CudaEvent(const CudaEvent&) = delete;
    CudaEvent& operator=(const CudaEvent&) = delete;

    /// What `stream` is given from now on waits for this point; the calling thread does not.
    void hold_back(CUstream stream) const {
        device_->driver().check(device_->functions().cuStreamWaitEvent(stream, event_, 0),
                                "cuStreamWaitEvent for " + device_->name());
    }

  private:
    void destroy() const noexcept { static_cast<void>(device_->functions().cuEventDestroy(event_)); }

    const CudaDevice* device_;
    CUevent event_ = nullptr;
};

}  // namespace triton_inprocess
