// Where Triton puts outputs: pooled host memory, or what a backend of this process offers (OutputOffer), handed over to
// the response's tensors.
#pragma once

#include "tensor/buffer.h"

namespace triton_inprocess {

class ResponseAllocator {
  public:
    /// The process's allocator; it needs a loaded runtime and lives as long as the process.
    static TRITONSERVER_ResponseAllocator* get();

    /// The buffer behind an output, from the address that Triton keeps with it.
    static Ref<Buffer> buffer(void* buffer_user_pointer) noexcept {
        return Ref<Buffer>(static_cast<Buffer*>(buffer_user_pointer));
    }
};

}  // namespace triton_inprocess
