#include "buffer_pool.h"

namespace triton_inprocess::benchmarks {

BufferPool::BufferPool(std::size_t byte_size, std::size_t count) : byte_size_(byte_size) {
    for (std::size_t index = 0; index < count; ++index) {
        add_buffer();
    }
}

// Reserves as many places in the free list as there are buffers, so that giving one back cannot fail.
void BufferPool::add_buffer() {
    free_.reserve(buffers_.size() + 1);
    buffers_.push_back(std::make_unique<std::byte[]>(byte_size_));
    free_.push_back(buffers_.back().get());
}

void* BufferPool::take() {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (free_.empty()) {
        add_buffer();
    }
    void* buffer = free_.back();
    free_.pop_back();
    return buffer;
}

void BufferPool::give_back(void* buffer) noexcept {
    const std::lock_guard<std::mutex> guard(mutex_);
    free_.push_back(buffer);
}

}  // namespace triton_inprocess::benchmarks
