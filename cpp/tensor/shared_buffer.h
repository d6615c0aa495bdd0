// Memory in a shared memory pool. It cannot be given to anybody else while this lives, in whatever process.
#pragma once

#include <cstdint>
#include <memory>

#include "tensor/buffer.h"
#include "tensor/shared_heap.h"

namespace triton_inprocess {

class SharedMemoryPool;

class SharedBuffer final : public Buffer {
  public:
    /// Empty until the pool makes it refer to a block.
    SharedBuffer(std::shared_ptr<SharedMemoryPool> pool, bool read_only);
    ~SharedBuffer() override;

    const std::shared_ptr<SharedMemoryPool>& pool() const noexcept { return pool_; }

    /// That of the block, which no other block of the segment ever has.
    std::uint64_t id() const noexcept { return block_.id; }

  private:
    friend class SharedMemoryPool;

    std::shared_ptr<SharedMemoryPool> pool_;
    SharedHeap::Block block_ = {};
    bool holds_ = false;
};

}  // namespace triton_inprocess
