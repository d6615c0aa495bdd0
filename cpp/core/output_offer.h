// Memory that already holds an output, offered to the response allocator instead of a copy.
#pragma once

#include <cstddef>

#include "tensor/buffer.h"

namespace triton_inprocess {

/// While one of these lives, the process's ResponseAllocator takes its buffer for the output that Triton asks memory
/// for on this thread: it does so inside TRITONBACKEND_OutputBuffer. Another allocator does not, and then the output is
/// to be copied.
class OutputOffer {
  public:
    /// The buffer has the output's bytes and no others; null offers nothing.
    explicit OutputOffer(Ref<Buffer> buffer) noexcept;
    ~OutputOffer();
    OutputOffer(const OutputOffer&) = delete;
    OutputOffer& operator=(const OutputOffer&) = delete;

    /// Whether the response has the buffer now.
    bool taken() const noexcept { return taken_; }

    /// What is offered on this thread for an output of that size, and not taken yet; or null.
    static Ref<Buffer> take(std::size_t byte_size) noexcept;

  private:
    Ref<Buffer> buffer_;
    bool taken_ = false;
    OutputOffer* outer_;
};

}  // namespace triton_inprocess
