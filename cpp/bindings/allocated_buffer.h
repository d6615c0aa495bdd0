// An output's memory that a user's MemoryAllocator has given.
#pragma once

#include <nanobind/nanobind.h>

#include <array>

#include "tensor/buffer.h"

namespace triton_inprocess {

/// Gives the MemoryBuffer back to the allocator's `free` when neither Triton nor a tensor uses the memory any more.
class AllocatedBuffer final : public Buffer {
  public:
    /// `memory` is a MemoryBuffer, of which `buffer` is the memory: only the object is held, so that what it owns is
    /// the garbage collector's to see. `allocator` is not valid when it has no `free`.
    AllocatedBuffer(const Buffer& buffer, nanobind::object memory, nanobind::object allocator);
    ~AllocatedBuffer() override;

    /// Whether there are any. An array of numpy's, which the garbage collector does not look into, may keep one beyond
    /// the end of the interpreter.
    static bool any() noexcept;

    std::array<PyObject*, 2> held() const noexcept { return {memory_, allocator_}; }

  private:
    PyObject* memory_;
    PyObject* allocator_;
};

}  // namespace triton_inprocess
