// Memory of a GPU.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tensor/buffer.h"
#include "tensor/cuda_stream.h"

namespace triton_inprocess {

class DeviceBuffer final : public Buffer {
  public:
    enum class Use {
        local,      ///< In this process only: from the GPU's memory pool, where it has one.
        shareable,  ///< Can be opened by other processes, which pooled memory cannot.
    };

    /// Memory that may be used at once, by any stream. Throws UNAVAILABLE when the GPU has not enough.
    static Ref<DeviceBuffer> allocate(std::int64_t device, std::size_t byte_size, Use use = Use::local);

    /// Memory that may be used at once by `stream`, and by others after it was waited for.
    DeviceBuffer(const CudaStream& stream, std::size_t byte_size, Use use);
    ~DeviceBuffer() override;

    /// Whether the memory is from a pool.
    bool pooled() const noexcept { return pooled_; }

    /// From now on streams that are not this project's may use the memory, and may still do so when nobody refers to it
    /// any more: it is freed only after all work of the GPU is done.
    void lend() const noexcept { lent_.store(true, std::memory_order_relaxed); }

  private:
    CudaDevice* device_;
    bool pooled_;
    mutable std::atomic<bool> lent_{false};
};

/// Notes that the memory of `buffer` is given to others' streams; nothing for memory that is not a DeviceBuffer's.
void lend(const Buffer& buffer) noexcept;

}  // namespace triton_inprocess
