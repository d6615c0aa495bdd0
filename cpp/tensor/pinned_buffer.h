// Host memory that GPUs reach directly, and that is never paged out.
#pragma once

#include <cstddef>

#include "tensor/buffer.h"
#include "tensor/cuda_device.h"

namespace triton_inprocess {

class PinnedBuffer final : public Buffer {
  public:
    /// Uninitialised memory. Throws UNAVAILABLE when there is not enough, UNSUPPORTED without a GPU.
    explicit PinnedBuffer(std::size_t byte_size);
    ~PinnedBuffer() override;

  private:
    CudaDevice* device_;
};

}  // namespace triton_inprocess
