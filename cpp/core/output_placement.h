// Where the outputs of one request in flight are put, when its author decides that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "abi/types.h"
#include "tensor/buffer.h"

namespace triton_inprocess {

/// What the C callbacks of a PlacementAllocator reach through the user pointer of the request. Every method may throw
/// an Error, which Triton is told.
class OutputPlacement {
  public:
    using Place = std::pair<TRITONSERVER_MemoryType, std::int64_t>;

    OutputPlacement() = default;
    OutputPlacement(const OutputPlacement&) = delete;
    OutputPlacement& operator=(const OutputPlacement&) = delete;

    /// A response begins.
    virtual void start() = 0;

    /// The memory for an output; Triton prefers `wanted`.
    virtual Ref<Buffer> allocate(const char* name, std::size_t byte_size, Place wanted) = 0;

    /// Where `allocate` would put an output; the size is null when it is not known yet.
    virtual Place query(const char* name, const std::size_t* byte_size, Place wanted) = 0;

    /// Completes what Triton is told of an output's memory.
    virtual void describe(const char* name, TRITONSERVER_BufferAttributes* attributes, Buffer& buffer) = 0;

  protected:
    ~OutputPlacement() = default;
};

}  // namespace triton_inprocess
