// A GPU's memory that another process has exported.
#pragma once

#include "tensor/buffer.h"
#include "tensor/cuda_device.h"
#include "tensor/ipc_memory_handle.h"

namespace triton_inprocess {

class ImportedIpcBuffer final : public Buffer {
  public:
    /// Opens the memory. The exporting process must keep it for as long as this object lives; it cannot be this one.
    /// Throws INVALID_ARG for what is no such handle, or reaches beyond the allocation.
    explicit ImportedIpcBuffer(const IpcMemoryHandle& handle, bool read_only = false);
    ~ImportedIpcBuffer() override;

  private:
    void close() const noexcept;

    CudaDevice* device_;
    CUdeviceptr base_ = 0;
};

}  // namespace triton_inprocess
