// Pooled memory.
#include "tensor/host_buffer_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <thread>

namespace triton_inprocess::testing {
namespace {

TEST(HostBufferPoolTest, EverySizeIsWholeAndAligned) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257},
                                   std::size_t{320}, std::size_t{4097}, (std::size_t{1} << 20) + 1}) {
        const Ref<Buffer> buffer = HostBufferPool::instance().allocate(size);
        EXPECT_EQ(buffer->byte_size(), size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64, 0U);
        std::memset(buffer->data(), 0xA5, size);  // a sanitizer sees what is too short
    }
}

TEST(HostBufferPoolTest, FreedMemoryIsUsedAgain) {
    const void* const first = HostBufferPool::instance().allocate(100'000)->data();
    EXPECT_EQ(HostBufferPool::instance().allocate(99'000)->data(), first);
}

TEST(HostBufferPoolTest, WhatIsTooLargeIsRefused) {
    EXPECT_THROW(HostBufferPool::instance().allocate(SIZE_MAX), std::bad_alloc);
    EXPECT_THROW(HostBufferPool::instance().allocate(std::size_t{1} << 60), std::bad_alloc);
}

TEST(HostBufferPoolTest, ThreadsShareIt) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([i] {
            for (std::size_t size = 1; size < 2000; ++size) {
                const Ref<Buffer> buffer = HostBufferPool::instance().allocate(size * 7 % 3000);
                std::memset(buffer->data(), i, buffer->byte_size());
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace
}  // namespace triton_inprocess::testing
