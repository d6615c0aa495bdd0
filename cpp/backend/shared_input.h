// A caller's memory as a model's function sees it.
#pragma once

#include <cstddef>
#include <utility>

#include "tensor/buffer.h"

namespace triton_inprocess {

/// What tells whether somebody has any of the inputs still that know of it: then it has other references.
class InputWatch final : public RefCounted {};

/// Shares the ownership of the memory with the caller's request.
class SharedInput final : public Buffer {
  public:
    SharedInput(void* data, std::size_t byte_size, Ref<Buffer> memory, Ref<InputWatch> watch)
        : Buffer(data, byte_size, memory->memory_type(), memory->memory_type_id(), true),
          memory_(std::move(memory)),
          watch_(std::move(watch)) {}

    const Buffer& root() const noexcept override { return memory_->root(); }

    /// The caller's memory, of which this may be a part.
    const Ref<Buffer>& memory() const noexcept { return memory_; }

  private:
    Ref<Buffer> memory_;
    Ref<InputWatch> watch_;
};

}  // namespace triton_inprocess
