// A GPU: its primary context, which it shares with Triton and everybody else in the process, and streams for copies.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/cuda_driver.h"

namespace triton_inprocess {

class CudaDevice {
  public:
    /// The GPU of that number. Throws INVALID_ARG for one that this machine has not, and what CudaDriver::instance
    /// throws.
    static CudaDevice& get(std::int64_t id);

    const CudaDriver& driver() const noexcept { return *driver_; }
    const CudaFunctions& functions() const noexcept { return driver_->functions(); }
    std::int64_t id() const noexcept { return id_; }
    CUcontext context() const noexcept { return context_; }

    /// Whether memory can be allocated and freed in the order of a stream.
    bool has_memory_pools() const noexcept { return has_memory_pools_; }

    /// "GPU 0"
    std::string name() const { return "GPU " + std::to_string(id_); }

  private:
    friend class CudaStream;

    CudaDevice(const CudaDriver& driver, std::int64_t id);

    /// A stream that nobody else uses, or null when a new one is to be made.
    CUstream take_stream() noexcept;
    void keep_stream(CUstream stream) noexcept;

    const CudaDriver* driver_;
    std::int64_t id_;
    CUcontext context_ = nullptr;
    bool has_memory_pools_ = false;
    std::mutex mutex_;
    std::vector<CUstream> streams_;
};

}  // namespace triton_inprocess
