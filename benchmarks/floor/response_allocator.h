// A response allocator that hands out the buffers of a pool.
#pragma once

#include <memory>

#include "abi/types.h"
#include "buffer_pool.h"

namespace triton_inprocess::benchmarks {

class ResponseAllocator {
  public:
    /// Every output must fit into a buffer of `pool`, which must outlive this object.
    explicit ResponseAllocator(BufferPool& pool);

    TRITONSERVER_ResponseAllocator* get() const noexcept { return allocator_.get(); }

    /// What requests pass along with the allocator.
    void* user_pointer() const noexcept { return &pool_; }

  private:
    struct Deleter {
        void operator()(TRITONSERVER_ResponseAllocator* allocator) const noexcept;
    };

    BufferPool& pool_;
    std::unique_ptr<TRITONSERVER_ResponseAllocator, Deleter> allocator_;
};

}  // namespace triton_inprocess::benchmarks
