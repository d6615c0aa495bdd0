#include "tensor/shared_buffer.h"

#include <utility>

#include "tensor/shared_memory_pool.h"

namespace triton_inprocess {

SharedBuffer::SharedBuffer(std::shared_ptr<SharedMemoryPool> pool, bool read_only)
    : Buffer(nullptr, 0, TRITONSERVER_MEMORY_CPU, 0, read_only), pool_(std::move(pool)) {}

SharedBuffer::~SharedBuffer() {
    if (holds_) {
        pool_->release(block_);
    }
}

}  // namespace triton_inprocess
