// Memory within a larger buffer, which it keeps alive.
#pragma once

#include <cstddef>
#include <utility>

#include "tensor/buffer.h"

namespace triton_inprocess {

class BufferSlice final : public Buffer {
  public:
    /// `byte_size` bytes at `data` lie in `whole`.
    BufferSlice(void* data, std::size_t byte_size, Ref<Buffer> whole, bool read_only)
        : Buffer(data, byte_size, whole->memory_type(), whole->memory_type_id(), read_only), whole_(std::move(whole)) {}

    const Buffer& root() const noexcept override { return whole_->root(); }

  private:
    Ref<Buffer> whole_;
};

}  // namespace triton_inprocess
