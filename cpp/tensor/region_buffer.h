// A part of shared memory that somebody else manages.
#pragma once

#include <cstddef>
#include <utility>

#include "tensor/buffer.h"
#include "tensor/shared_memory_segment.h"

namespace triton_inprocess {

class RegionBuffer final : public Buffer {
  public:
    /// `offset` and `byte_size` lie in the segment.
    RegionBuffer(SharedMemorySegment segment, std::size_t offset, std::size_t byte_size, bool read_only)
        : Buffer(segment.data() == nullptr ? nullptr : static_cast<char*>(segment.data()) + offset, byte_size,
                 TRITONSERVER_MEMORY_CPU, 0, read_only),
          segment_(std::move(segment)) {}

  private:
    SharedMemorySegment segment_;
};

}  // namespace triton_inprocess
