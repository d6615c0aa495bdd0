// A part of shared memory as one process tells another of it.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/shared_memory_pool.h"

namespace triton_inprocess {

class SharedMemoryRegion {
  public:
    /// Which block of which pool; all 0 for memory that is no pool's.
    struct Block {
        std::uint64_t segment_id = 0;
        std::uint64_t id = 0;
    };

    /// With `block`, opening it makes sure that it still is that block; without, whoever made the memory takes care of
    /// that. Throws INVALID_ARG for a key that is none.
    SharedMemoryRegion(const std::string& key, std::uint64_t offset, std::uint64_t byte_size, Block block);

    /// Copies host memory into the pool, unless it lies there already. The result holds the memory. Throws UNAVAILABLE
    /// when the pool has no room.
    static SharedMemoryRegion share(const Buffer& buffer, SharedMemoryPool& pool);

    /// The memory itself.
    Ref<Buffer> open(bool writable) const;

    std::string key() const { return "/" + name_; }
    std::uint64_t offset() const noexcept { return offset_; }
    std::uint64_t byte_size() const noexcept { return byte_size_; }
    const Block& block() const noexcept { return block_; }

  private:
    std::string name_;
    std::uint64_t offset_;
    std::uint64_t byte_size_;
    Block block_;
    Ref<Buffer> held_;
};

}  // namespace triton_inprocess
