// Memory that several processes allocate in, some of which are killed.
#include "tensor/shared_memory_pool.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/fake_triton.h"
#include "tensor/byte_lock.h"
#include "tensor/host_buffer_pool.h"
#include "tensor/shared_tensor.h"

namespace triton_inprocess::testing {
namespace {

constexpr std::size_t header = SharedHeap::header_size;
constexpr std::int64_t operation_byte = 1;  // see shared_memory_pool.cpp

bool exists(const SharedMemoryPool& pool) {
    struct stat status = {};
    return lstat(("/dev/shm/" + pool.name()).c_str(), &status) == 0;
}

/// Runs `action` in a child, which ends with the status 0 if it returns true.
pid_t start(const std::function<bool()>& action) {
    const pid_t child = fork();
    if (child == 0) {
        bool right = false;
        try {
            right = action();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
        }
        _exit(right ? 0 : 1);
    }
    return child;
}

int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

void fill(const Buffer& buffer, int value) {
    std::memset(buffer.data(), value, buffer.byte_size());
}

bool holds(const Buffer& buffer, int value) {
    const auto* const begin = static_cast<const unsigned char*>(buffer.data());
    return std::all_of(begin, begin + buffer.byte_size(), [&](unsigned char each) { return each == value; });
}

// -- the heap ---------------------------------------------------------------------------------------------------------

/// A heap that forked children share, without locks.
class SharedHeapTest : public ::testing::Test {
  protected:
    static constexpr std::size_t size = 8192;

    SharedHeapTest()
        : memory_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
          heap_(memory_, size) {
        heap_.format();
    }
    ~SharedHeapTest() override { munmap(memory_, size); }

    void overwrite(std::size_t offset, std::uint64_t value) {
        std::memcpy(static_cast<char*>(memory_) + offset, &value, sizeof(value));
    }

    void* memory_;
    SharedHeap heap_;
};

TEST_F(SharedHeapTest, AllocatesUntilItIsFullAndIsOneBlockAgain) {
    std::vector<SharedHeap::Block> blocks;
    while (const auto block = heap_.allocate(100, blocks.size() + 1, 3)) {
        blocks.push_back(*block);
    }
    EXPECT_EQ(blocks.size(), size / (header + 128));
    EXPECT_EQ(heap_.space().largest, size % (header + 128) == 0 ? 0 : size % (header + 128) - header);
    for (std::size_t i = 0; i < blocks.size(); i += 2) {
        heap_.release(blocks[i].offset, 3);
    }
    EXPECT_FALSE(heap_.allocate(129, 100, 3));
    EXPECT_TRUE(heap_.allocate(128, 101, 4));
    heap_.remove({~std::uint64_t{0}, 0, 0, 0});
    EXPECT_EQ(heap_.space().free, size);
    EXPECT_EQ(heap_.space().largest, size - header);
    EXPECT_TRUE(heap_.allocate(size - header, 102, 0));
}

TEST_F(SharedHeapTest, ABlockIsFreeWhenItsLastHolderHasLetGo) {
    const auto block = heap_.allocate(64, 7, 0);
    heap_.hold(7, block->data(), 64, 255);
    EXPECT_EQ(heap_.holders(), (SharedHeap::Holders{1, 0, 0, std::uint64_t{1} << 63}));
    heap_.release(block->offset, 0);
    EXPECT_EQ(heap_.hold(7, block->data() + 32, 32, 64).offset, block->offset);
    heap_.release(block->offset, 255);
    EXPECT_LT(heap_.space().free, size);
    heap_.release(block->offset, 64);
    EXPECT_EQ(heap_.space().free, size);
    EXPECT_EQ(error_of([&] { heap_.hold(7, block->data(), 64, 0); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
}

TEST_F(SharedHeapTest, WhatIsNotInABlockIsNotHeld) {
    const auto block = heap_.allocate(100, 7, 0);
    for (const auto& [data, length] : {std::pair<std::uint64_t, std::size_t>{block->data(), 101},
                                       {block->data() + 100, 1},
                                       {block->data() + 101, 0},
                                       {block->data() + 1, SIZE_MAX}}) {
        const std::uint64_t from = data;
        const std::size_t count = length;
        EXPECT_EQ(error_of([&] { heap_.hold(7, from, count, 1); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    }
    for (const std::uint64_t data : {std::uint64_t{0}, block->data() - 1, block->data() + 192, std::uint64_t{size},
                                     UINT64_MAX, UINT64_MAX - header}) {
        EXPECT_EQ(error_of([&] { heap_.hold(7, data, 0, 1); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
    }
    EXPECT_EQ(error_of([&] { heap_.hold(8, block->data(), 1, 1); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
    EXPECT_EQ(heap_.holders()[0], 1U);
}

TEST_F(SharedHeapTest, EmptyBlocksAreBlocks) {
    const auto first = heap_.allocate(0, 1, 0);
    const auto second = heap_.allocate(0, 2, 0);
    EXPECT_EQ(heap_.hold(1, first->data(), 0, 1).offset, first->offset);
    EXPECT_EQ(heap_.hold(2, second->data(), 0, 1).offset, second->offset);
}

TEST_F(SharedHeapTest, ACopyOfAHolderHoldsTheSame) {
    const auto first = heap_.allocate(1, 1, 0);
    const auto second = heap_.allocate(1, 2, 1);
    heap_.hold(2, second->data(), 1, 200);
    heap_.copy_holder(0, 200);
    EXPECT_EQ(heap_.holders(), (SharedHeap::Holders{3, 0, 0, 1 << 8}));
    heap_.release(first->offset, 0);
    heap_.release(second->offset, 1);
    EXPECT_EQ(heap_.space().free, size - 128);
    EXPECT_EQ(heap_.hold(1, first->data(), 1, 9).id, 1U);
}

TEST_F(SharedHeapTest, DamageIsFound) {
    heap_.allocate(100, 1, 0);
    heap_.check();
    const std::vector<std::uint64_t> sizes = {0, 1, 63, 65, 192 + 1, size + 64, SIZE_MAX, SIZE_MAX - 63};
    for (const std::uint64_t damage : sizes) {
        heap_.format();
        heap_.allocate(100, 1, 0);
        overwrite(8, damage);
        EXPECT_EQ(error_of([&] { heap_.check(); }).code(), TRITONSERVER_ERROR_INTERNAL) << damage;
        EXPECT_EQ(error_of([&] { heap_.allocate(1, 2, 0); }).code(), TRITONSERVER_ERROR_INTERNAL) << damage;
        EXPECT_EQ(error_of([&] { heap_.hold(1, header, 1, 0); }).code(), TRITONSERVER_ERROR_INTERNAL) << damage;
    }
    heap_.format();
    heap_.allocate(100, 1, 0);
    overwrite(16, 1000);  // longer than its block
    EXPECT_EQ(error_of([&] { heap_.hold(1, header, 1, 0); }).code(), TRITONSERVER_ERROR_INTERNAL);
}

TEST_F(SharedHeapTest, RandomDamageDoesNotLeadOut) {
    std::mt19937_64 random(1);  // NOLINT(bugprone-random-generator-seed): the same each time
    const std::vector<char> before = [&] {
        for (const std::size_t length : {0, 10, 500, 64, 2000}) {
            heap_.allocate(length, length + 1, length % 3);
        }
        heap_.remove({2, 0, 0, 0});
        return std::vector<char>(static_cast<char*>(memory_), static_cast<char*>(memory_) + size);
    }();
    std::size_t found = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::memcpy(memory_, before.data(), size);
        for (int i = 0; i < 2; ++i) {
            // Mostly in the headers, mostly with values that look right.
            overwrite(random() % 2 == 0 ? random() % 40 * 8 : random() % (size / 8) * 8,
                      random() % 4 == 0 ? random() : random() % 130 * 64);
        }
        try {
            heap_.allocate(random() % 3000, 99, 5);
            heap_.hold(11, random() % size, random() % 100, 6);
            heap_.space();
        } catch (const Error& error) {
            found += error.code() == TRITONSERVER_ERROR_INTERNAL ? 1 : 0;
        }
    }
    EXPECT_GT(found, 1000U);  // a sanitizer sees what would be read or written outside
}

/// What a child does to the heap, instruction by instruction.
class SteppedChild {
  public:
    explicit SteppedChild(const std::function<void()>& action) : process_(fork()) {
        if (process_ == 0) {
            if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
                _exit(2);
            }
            raise(SIGSTOP);
            action();
            raise(SIGSTOP);
            _exit(0);
        }
        traced_ = waitpid(process_, &status_, 0) == process_ && WIFSTOPPED(status_);
    }
    ~SteppedChild() {
        kill(process_, SIGKILL);
        while (waitpid(process_, &status_, 0) == process_ && !WIFSIGNALED(status_) && !WIFEXITED(status_)) {
        }
    }
    SteppedChild(const SteppedChild&) = delete;
    SteppedChild& operator=(const SteppedChild&) = delete;

    bool traced() const noexcept { return traced_; }

    /// Returns false when the action is over.
    bool step() {
        return ptrace(PTRACE_SINGLESTEP, process_, nullptr, nullptr) == 0 &&
               waitpid(process_, &status_, 0) == process_ && WIFSTOPPED(status_) && WSTOPSIG(status_) == SIGTRAP;
    }

  private:
    pid_t process_;
    int status_ = 0;
    bool traced_ = false;
};

TEST_F(SharedHeapTest, ADeathAtAnyInstructionLeavesItWhole) {
    const auto first = heap_.allocate(100, 1, 0);
    const auto second = heap_.allocate(100, 2, 0);
    const auto third = heap_.allocate(100, 3, 0);
    heap_.allocate(100, 4, 0);
    heap_.release(second->offset, 0);
    heap_.release(third->offset, 0);
    std::memset(static_cast<char*>(memory_) + first->data(), 0xA5, first->byte_size);
    SteppedChild child([&] {
        const auto merged = heap_.allocate(200, 5, 1);  // merges two, and splits what they are
        heap_.hold(1, first->data(), 100, 1);
        heap_.release(merged->offset, 1);
        heap_.copy_holder(0, 2);
        heap_.remove({4, 0, 0, 0});
        heap_.allocate(2000, 6, 1);
    });
    if (!child.traced()) {
        GTEST_SKIP() << "no process may be traced here";
    }
    // What the child would leave if it were killed here, for each different content of the memory.
    std::vector<char> last(size);
    const Ref<Buffer> copy = HostBufferPool::instance().allocate(size);
    SharedHeap left(copy->data(), size);
    std::size_t count = 0;
    do {
        if (std::memcmp(last.data(), memory_, size) == 0) {
            continue;
        }
        ++count;
        std::memcpy(last.data(), memory_, size);
        std::memcpy(copy->data(), memory_, size);
        left.check();
        left.remove({6, 0, 0, 0});  // the dead
        // The two that live are whole, and everything else is free, as it was.
        ASSERT_EQ(left.space().free, size - 2 * (header + 128)) << count;
        ASSERT_EQ(left.holders(), (SharedHeap::Holders{1, 0, 0, 0})) << count;
        const auto* const data = static_cast<const unsigned char*>(copy->data()) + first->data();
        ASSERT_TRUE(std::all_of(data, data + 100, [](unsigned char each) { return each == 0xA5; })) << count;
        ASSERT_EQ(left.hold(4, 3 * (header + 128) + header, 100, 0).byte_size, 100U) << count;
        ASSERT_TRUE(left.allocate(header + 256, 7, 3)) << count;
        ASSERT_TRUE(left.allocate(size - 4 * (header + 128) - header, 8, 3)) << count;
        ASSERT_EQ(left.space().free, 0U) << count;
    } while (child.step());
    EXPECT_GT(count, 15U);
}

// -- pools ------------------------------------------------------------------------------------------------------------

TEST(SharedMemorySegmentTest, HasANameOnlyOnceItIsGivenOne) {
    SharedMemorySegment segment = SharedMemorySegment::create(10'000);
    const std::string name = "triton-inprocess-test-" + std::to_string(getpid());
    std::memset(segment.data(), 1, segment.byte_size());
    EXPECT_FALSE(segment.linked());
    EXPECT_FALSE(segment.unlink(name));
    EXPECT_TRUE(segment.publish(name));
    EXPECT_TRUE(segment.linked());
    SharedMemorySegment other = SharedMemorySegment::create(1);
    EXPECT_FALSE(other.publish(name));
    EXPECT_FALSE(other.unlink(name));  // it is not his
    const SharedMemorySegment opened = SharedMemorySegment::open(name, SharedMemorySegment::Access::read_only);
    EXPECT_EQ(opened.byte_size(), 10'000U);
    EXPECT_EQ(std::memcmp(opened.data(), segment.data(), 10'000), 0);
    EXPECT_TRUE(segment.unlink(name));
    EXPECT_FALSE(segment.unlink(name));
    EXPECT_EQ(error_of([&] { SharedMemorySegment::open(name, SharedMemorySegment::Access::writable); }).code(),
              TRITONSERVER_ERROR_NOT_FOUND);
}

TEST(ByteLockTest, IsThatOfADescription) {
    const SharedMemorySegment segment = SharedMemorySegment::create(1);
    const int first = segment.descriptor();
    {
        const FileDescriptor second = segment.reopen();
        lock_byte(second.number(), 5, ByteLock::exclusive);
        EXPECT_TRUE(byte_is_locked(first, 5));
        EXPECT_FALSE(byte_is_locked(second.number(), 5));  // by another
        EXPECT_FALSE(byte_is_locked(first, 4));
        EXPECT_FALSE(try_lock_byte(first, 5, ByteLock::shared));
        lock_byte(second.number(), 5, ByteLock::shared);
        EXPECT_TRUE(try_lock_byte(first, 5, ByteLock::shared));
        EXPECT_FALSE(try_lock_byte(first, 5, ByteLock::exclusive));
    }
    EXPECT_TRUE(try_lock_byte(first, 5, ByteLock::exclusive));
    unlock_byte(first, 5);
    EXPECT_FALSE(byte_is_locked(segment.reopen().number(), 5));
}

TEST(SharedMemoryPoolTest, ItsNameGoesWithTheLastUser) {
    auto first = SharedMemoryPool::create("", 1);
    EXPECT_EQ(first->byte_size(), 4096U);
    EXPECT_EQ(error_of([&] { SharedMemoryPool::create(first->name(), 1); }).code(), TRITONSERVER_ERROR_ALREADY_EXISTS);
    auto second = SharedMemoryPool::open(first->name());
    first.reset();
    EXPECT_TRUE(exists(*second));
    auto third = SharedMemoryPool::open("/" + second->name());
    second.reset();
    Ref<Buffer> buffer = third->allocate(1);
    const std::string name = third->name();
    third.reset();
    third = SharedMemoryPool::open(name);  // the buffer has the pool open
    buffer = nullptr;
    third.reset();
    EXPECT_EQ(error_of([&] { SharedMemoryPool::open(name); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
}

TEST(SharedMemoryPoolTest, BuffersOfAllUsersKeepABlock) {
    const auto first = SharedMemoryPool::create("", 10'000);
    const auto second = SharedMemoryPool::open(first->name());
    Ref<SharedBuffer> buffer = first->allocate(1000);
    fill(*buffer, 7);
    const std::uint64_t offset = first->offset_of(buffer->data());
    Ref<SharedBuffer> same = first->hold(buffer->id(), offset, 1000, true);
    Ref<SharedBuffer> other = second->hold(buffer->id(), offset + 500, 500, true);
    EXPECT_EQ(same->data(), buffer->data());
    EXPECT_NE(other->data(), buffer->data());
    buffer = nullptr;
    same = nullptr;
    EXPECT_EQ(first->byte_size() - first->free_byte_size(), header + 1024);
    EXPECT_TRUE(holds(*other, 7));
    other = nullptr;
    EXPECT_EQ(first->free_byte_size(), first->byte_size());
}

TEST(SharedMemoryPoolTest, TensorsAreSharedAndOpened) {
    const auto pool = SharedMemoryPool::create("", 10'000);
    const Ref<Buffer> memory = HostBufferPool::instance().allocate(16);
    fill(*memory, 3);
    {
        const SharedTensor shared = SharedTensor::share(Tensor(TRITONSERVER_TYPE_FP32, {4}, memory), *pool);
        const Tensor opened = shared.open(false);
        EXPECT_TRUE(holds(*opened.buffer(), 3));
        EXPECT_TRUE(opened.buffer()->read_only());
        // What lies in the pool is not copied.
        EXPECT_EQ(SharedTensor::share(opened, *pool).offset(), shared.offset());
        const auto& region = std::get<SharedMemoryRegion>(shared.location());
        const SharedTensor received(SharedMemoryRegion(region.key(), region.offset(), 16, region.block()),
                                    TRITONSERVER_TYPE_FP32, {4});
        EXPECT_EQ(received.open(true).buffer()->data(), opened.buffer()->data());
        const SharedTensor plain(SharedMemoryRegion(region.key(), region.offset(), 16, {}), TRITONSERVER_TYPE_FP32,
                                 {4});
        EXPECT_TRUE(holds(*plain.open(false).buffer(), 3));
    }
    EXPECT_EQ(pool->free_byte_size(), pool->byte_size());
}

TEST(SharedMemoryPoolTest, ThreadsShareIt) {
    const auto pool = SharedMemoryPool::create("", 100'000);
    const auto second = SharedMemoryPool::open(pool->name());
    const Ref<SharedBuffer> common = pool->allocate(100);
    const std::uint64_t offset = pool->offset_of(common->data());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            SharedMemoryPool& own = i % 2 == 0 ? *pool : *second;
            for (std::size_t size = 1; size < 500; ++size) {
                const Ref<SharedBuffer> buffer = own.allocate(size * 7 % 3000);
                const Ref<SharedBuffer> held = own.hold(common->id(), offset, 100, true);
                fill(*buffer, i);
                wrong += holds(*buffer, i) ? 0 : 1;
                wrong += own.free_byte_size() < own.byte_size() ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(pool->free_byte_size(), pool->byte_size() - header - 128);
}

// -- other processes --------------------------------------------------------------------------------------------------

TEST(SharedMemoryPoolTest, AKilledProcessHoldsNothing) {
    const auto pool = SharedMemoryPool::create("", 50'000);
    const Ref<SharedBuffer> kept = pool->allocate(1000);
    fill(*kept, 9);
    std::mt19937 random(2);  // NOLINT(bugprone-random-generator-seed): the same each time
    for (int round = 0; round < 100; ++round) {
        const pid_t child = start([&]() -> bool {
            // As a process that was started and not forked.
            const auto own = SharedMemoryPool::open(pool->name());
            std::mt19937 sizes(static_cast<unsigned>(round));
            std::vector<Ref<SharedBuffer>> buffers;
            while (true) {
                buffers.push_back(own->allocate(sizes() % 3000));
                buffers.push_back(own->hold(kept->id(), pool->offset_of(kept->data()), 1000, true));
                if (buffers.size() > 12) {
                    buffers.erase(buffers.begin(), buffers.begin() + 8);
                }
            }
        });
        usleep(random() % 3000);
        EXPECT_EQ(kill(child, SIGKILL), 0);
        const int status = status_of(child);
        ASSERT_TRUE(WIFSIGNALED(status));
        ASSERT_TRUE(pool->allocate(pool->byte_size() - 3 * header - 1024));
        ASSERT_EQ(pool->free_byte_size(), pool->byte_size() - header - 1024) << round;
        ASSERT_TRUE(holds(*kept, 9));
    }
}

TEST(SharedMemoryPoolTest, AKilledProcessLocksNobodyOut) {
    const auto pool = SharedMemoryPool::create("", 1);
    const SharedMemorySegment segment = SharedMemorySegment::open(pool->name(), SharedMemorySegment::Access::writable);
    const pid_t child = start([&]() -> bool {
        const FileDescriptor descriptor = segment.reopen();
        lock_byte(descriptor.number(), operation_byte, ByteLock::exclusive);
        while (true) {
            pause();
        }
    });
    ASSERT_TRUE(eventually([&] { return byte_is_locked(segment.descriptor(), operation_byte); }));
    std::atomic<bool> allocated{false};
    std::thread thread([&] {
        pool->allocate(1);
        allocated = true;
    });
    usleep(100'000);
    EXPECT_FALSE(allocated);
    EXPECT_EQ(kill(child, SIGKILL), 0);
    thread.join();
    status_of(child);
}

TEST(SharedMemoryPoolTest, AForkedChildHoldsWhatItsParentHeld) {
    const auto pool = SharedMemoryPool::create("", 20'000);
    Ref<SharedBuffer> buffer = pool->allocate(1000);
    fill(*buffer, 4);
    const pid_t child = start([&] {
        // The parent lets go, and takes what it gets.
        if (!eventually([&] { return pool->free_byte_size() == 0; }) || !holds(*buffer, 4)) {
            return false;
        }
        buffer = nullptr;
        return pool->free_byte_size() == header + 1024;
    });
    buffer = nullptr;
    {
        const std::size_t rest = pool->byte_size() - 2 * header - 1024;
        const Ref<SharedBuffer> other = pool->allocate(rest);
        fill(*other, 5);
        EXPECT_EQ(status_of(child), 0);
        EXPECT_TRUE(holds(*other, 5));
    }
    EXPECT_EQ(pool->free_byte_size(), pool->byte_size());
}

TEST(SharedMemoryPoolTest, ManyChildrenAtOnce) {
    auto pool = SharedMemoryPool::create("", 100'000);
    std::vector<pid_t> children;
    for (int i = 1; i <= 6; ++i) {
        children.push_back(start([&pool, i] {
            for (std::size_t round = 0; round < 300; ++round) {
                const Ref<SharedBuffer> first = pool->allocate(round * 37 % 4000);
                fill(*first, i);
                const Ref<SharedBuffer> second = pool->allocate(round * 91 % 4000);
                fill(*second, i + 100);
                if (!holds(*first, i) || !holds(*second, i + 100)) {
                    return false;
                }
            }
            return true;
        }));
    }
    for (const pid_t child : children) {
        EXPECT_EQ(status_of(child), 0);
    }
    EXPECT_EQ(pool->free_byte_size(), pool->byte_size());
    EXPECT_TRUE(exists(*pool));
    const std::string name = pool->name();
    pool.reset();
    EXPECT_EQ(error_of([&] { SharedMemoryPool::open(name); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
}

TEST(SharedMemoryPoolTest, WhatTheDeadLeftIsRemoved) {
    const std::string name = "triton-inprocess-left-" + std::to_string(getpid());
    const auto leave = [&] {
        const pid_t child = start([&] {
            const auto pool = SharedMemoryPool::create(name, 1);
            kill(getpid(), SIGKILL);
            return false;
        });
        EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    };
    leave();
    EXPECT_EQ(error_of([&] { SharedMemoryPool::open(name); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
    leave();
    EXPECT_EQ(SharedMemoryPool::create(name, 1)->free_byte_size(), 4096U);
    leave();
    SharedMemoryPool::create("", 1);
    EXPECT_EQ(error_of([&] { SharedMemorySegment::open(name, SharedMemorySegment::Access::read_only); }).code(),
              TRITONSERVER_ERROR_NOT_FOUND);
}

}  // namespace
}  // namespace triton_inprocess::testing
