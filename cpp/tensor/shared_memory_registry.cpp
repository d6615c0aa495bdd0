#include "tensor/shared_memory_registry.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "tensor/shared_memory_pool.h"

namespace triton_inprocess {

SharedMemoryRegistry& SharedMemoryRegistry::instance() {
    // Never destroyed: Triton's threads may let go of buffers until the very end of the process.
    static auto* registry = std::make_unique<SharedMemoryRegistry>().release();
    return *registry;
}

void SharedMemoryRegistry::add(SharedMemoryPool& pool) {
    static const int watching_forks = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    static const int watching_the_end = std::atexit([] { instance().leave(); });
    static_cast<void>(watching_forks);
    static_cast<void>(watching_the_end);
    const std::scoped_lock guard(mutex_);
    pools_.push_back(&pool);
}

void SharedMemoryRegistry::remove(SharedMemoryPool& pool) noexcept {
    // All of it under the lock: a fork sees the pool whole, or with its descriptor closed.
    const std::scoped_lock guard(mutex_);
    pools_.erase(std::remove(pools_.begin(), pools_.end(), &pool), pools_.end());
    pool.leave();
    pool.segment_.replace_descriptor(FileDescriptor());
}

std::shared_ptr<SharedMemoryPool> SharedMemoryRegistry::find(std::uint64_t segment_id) {
    const std::scoped_lock guard(mutex_);
    for (SharedMemoryPool* const pool : pools_) {
        // One whose destructor waits for the lock has no owner any more.
        if (pool->segment_id() == segment_id && !pool->left_) {
            if (std::shared_ptr<SharedMemoryPool> found = pool->weak_from_this().lock()) {
                return found;
            }
        }
    }
    return nullptr;
}

void SharedMemoryRegistry::leave() noexcept {
    const std::scoped_lock guard(mutex_);
    for (SharedMemoryPool* const pool : pools_) {
        pool->leave();
    }
}

void SharedMemoryRegistry::before_fork() noexcept {
    instance().mutex_.lock();
    for (SharedMemoryPool* const pool : instance().pools_) {
        pool->before_fork();
    }
}

void SharedMemoryRegistry::after_fork_in_parent() noexcept {
    for (SharedMemoryPool* const pool : instance().pools_) {
        pool->after_fork_in_parent();
    }
    instance().mutex_.unlock();
}

void SharedMemoryRegistry::after_fork_in_child() noexcept {
    for (SharedMemoryPool* const pool : instance().pools_) {
        pool->after_fork_in_child();
    }
    instance().mutex_.unlock();
}

}  // namespace triton_inprocess
