// Host memory that is used again: allocating an output costs a lock and a pointer, not a page fault per page.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/buffer.h"

namespace triton_inprocess {

class HostBufferPool;

/// Pooled memory, aligned to a cache line.
class HostBuffer final : public Buffer {
  public:
    explicit HostBuffer(std::size_t capacity);
    ~HostBuffer() override;

    std::size_t capacity() const noexcept { return capacity_; }

  protected:
    void dispose() noexcept override;

  private:
    friend class HostBufferPool;
    std::size_t capacity_;
};

class HostBufferPool {
  public:
    /// Freed memory that is kept for later use, in bytes; what would exceed it goes back to the system.
    static constexpr std::size_t kept_limit = std::size_t{256} << 20;

    static HostBufferPool& instance();

    /// Uninitialised memory of `byte_size` bytes; throws std::bad_alloc.
    Ref<Buffer> allocate(std::size_t byte_size);

    /// A thread of Triton's may be in here while the process forks, and the child would wait for it for ever.
    void before_fork() noexcept { mutex_.lock(); }
    void after_fork() noexcept { mutex_.unlock(); }

  private:
    friend class HostBuffer;
    bool keep(HostBuffer* buffer) noexcept;

    // Four classes for each doubling: at most a quarter of a block is unused.
    static constexpr std::size_t class_count = std::size_t{4} * 48;

    std::mutex mutex_;
    std::size_t kept_ = 0;
    std::array<std::vector<HostBuffer*>, class_count> free_;
};

}  // namespace triton_inprocess
