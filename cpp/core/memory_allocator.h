// Where a user's outputs come from, when he says so.
#pragma once

#include <cstddef>

#include "tensor/transfer.h"

namespace triton_inprocess {

class MemoryAllocator : public RefCounted {
  public:
    /// Memory for an output, of `byte_size` bytes or more; called on any thread. Throws an Error, which becomes the
    /// request's.
    virtual Ref<Buffer> allocate(const char* name, std::size_t byte_size, const MemoryPlace& wanted) = 0;

    /// Whether Python objects own the memory, so that its garbage collector is to be told of it.
    virtual bool gives_python_memory() const noexcept { return false; }
};

}  // namespace triton_inprocess
