// Makes a GPU's primary context the calling thread's, for as long as this object lives.
#pragma once

#include "tensor/cuda_device.h"

namespace triton_inprocess {

class CudaContext {
  public:
    explicit CudaContext(const CudaDevice& device) : functions_(&device.functions()) {
        device.driver().check(functions_->cuCtxPushCurrent(device.context()), "cuCtxPushCurrent for " + device.name());
    }
    ~CudaContext() {
        CUcontext popped = nullptr;
        static_cast<void>(functions_->cuCtxPopCurrent(&popped));
    }
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

  private:
    const CudaFunctions* functions_;
};

}  // namespace triton_inprocess
