#include "tensor/host_buffer_pool.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace triton_inprocess {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t smallest = 256;

struct SizeClass {
    std::size_t index;
    std::size_t capacity;
};

SizeClass size_class(std::size_t byte_size) {
    const std::size_t size = std::max(byte_size, smallest);
    const auto exponent = static_cast<std::size_t>(63 - __builtin_clzll(size));
    const std::size_t quarter = std::size_t{1} << (exponent - 2);
    const std::size_t quarters = (size + quarter - 1) / quarter;  // 4 to 8
    return {(exponent - 8) * 4 + (quarters - 4), quarters * quarter};
}

void* allocate_memory(std::size_t capacity) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): HostBuffer owns it
    void* memory = std::aligned_alloc(alignment, (capacity + alignment - 1) / alignment * alignment);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

}  // namespace

HostBuffer::HostBuffer(std::size_t capacity)
    : Buffer(allocate_memory(capacity), 0, TRITONSERVER_MEMORY_CPU, 0, false), capacity_(capacity) {}

HostBuffer::~HostBuffer() {
    std::free(data_);  // NOLINT(cppcoreguidelines-owning-memory): it is aligned_alloc's
}

void HostBuffer::dispose() noexcept {
    if (!HostBufferPool::instance().keep(this)) {
        Buffer::dispose();
    }
}

HostBufferPool& HostBufferPool::instance() {
    // Never destroyed: Triton's threads may still free outputs while the process ends.
    static auto* pool = std::make_unique<HostBufferPool>().release();
    return *pool;
}

Ref<Buffer> HostBufferPool::allocate(std::size_t byte_size) {
    const SizeClass wanted = size_class(byte_size);
    if (wanted.index >= class_count) {
        throw std::bad_alloc();
    }
    HostBuffer* buffer = nullptr;
    {
        const std::scoped_lock guard(mutex_);
        auto& free = free_[wanted.index];
        if (!free.empty()) {
            buffer = free.back();
            free.pop_back();
            kept_ -= buffer->capacity();
        }
    }
    Ref<HostBuffer> result = buffer != nullptr ? Ref<HostBuffer>(buffer) : make_ref<HostBuffer>(wanted.capacity);
    result->byte_size_ = byte_size;
    return result;
}

bool HostBufferPool::keep(HostBuffer* buffer) noexcept {
    const SizeClass own = size_class(buffer->capacity());
    const std::scoped_lock guard(mutex_);
    if (kept_ + buffer->capacity() > kept_limit) {
        return false;
    }
    try {
        free_[own.index].push_back(buffer);
    } catch (const std::bad_alloc&) {
        return false;
    }
    kept_ += buffer->capacity();
    return true;
}

}  // namespace triton_inprocess
