// Memory of GPUs, pinned memory, and copies between all kinds.
#include "tensor/transfer.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "support/fake_cuda.h"
#include "support/fake_triton.h"
#include "tensor/device_buffer.h"
#include "tensor/device_gather.h"
#include "tensor/host_buffer_pool.h"
#include "tensor/pinned_buffer.h"
#include "tensor/unlocked_wait.h"

namespace triton_inprocess::testing {
namespace {

using DeviceBufferTest = CudaTest;
using TransferTest = CudaTest;
using DeviceGatherTest = CudaTest;

constexpr std::array<MemoryPlace, 4> places = {{{TRITONSERVER_MEMORY_CPU, 0},
                                                {TRITONSERVER_MEMORY_CPU_PINNED, 0},
                                                {TRITONSERVER_MEMORY_GPU, 0},
                                                {TRITONSERVER_MEMORY_GPU, 1}}};

Ref<Buffer> on_host(const std::string& content) {
    const Ref<Buffer> buffer = HostBufferPool::instance().allocate(content.size());
    std::memcpy(buffer->data(), content.data(), content.size());
    return buffer;
}

std::string content(const Buffer& buffer) {
    std::string result(buffer.byte_size(), '\0');
    if (result.empty()) {
        return result;
    }
    if (buffer.memory_type() != TRITONSERVER_MEMORY_GPU) {
        std::memcpy(result.data(), buffer.data(), result.size());
    } else {
        EXPECT_TRUE(fake_cuda().read(address_of(buffer), result.data(), result.size()));
    }
    return result;
}

TEST_F(DeviceBufferTest, IsFromThePoolUnlessItIsShareable) {
    const Ref<DeviceBuffer> pooled = DeviceBuffer::allocate(1, 100);
    EXPECT_TRUE(pooled->pooled());
    EXPECT_EQ(pooled->memory_type(), TRITONSERVER_MEMORY_GPU);
    EXPECT_EQ(pooled->memory_type_id(), 1);
    EXPECT_EQ(pooled->byte_size(), 100U);
    EXPECT_FALSE(pooled->read_only());
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 0);
    const Ref<DeviceBuffer> shareable = DeviceBuffer::allocate(1, 100, DeviceBuffer::Use::shareable);
    EXPECT_FALSE(shareable->pooled());
    EXPECT_EQ(fake_cuda().calls("cuMemAlloc"), 1);
}

TEST_F(DeviceBufferTest, NothingNeedsNoMemory) {
    EXPECT_EQ(DeviceBuffer::allocate(0, 0)->data(), nullptr);
    EXPECT_EQ(DeviceBuffer::allocate(0, 0, DeviceBuffer::Use::shareable)->data(), nullptr);
    EXPECT_EQ(PinnedBuffer(0).data(), nullptr);
    EXPECT_EQ(fake_cuda().calls("cuMemFreeHost"), 0);
}

TEST_F(DeviceBufferTest, IsFreedAfterTheWorkOfThoseItWasLentTo) {
    for (const DeviceBuffer::Use use : {DeviceBuffer::Use::local, DeviceBuffer::Use::shareable}) {
        const Ref<DeviceBuffer> memory = DeviceBuffer::allocate(0, 8, use);
        lend(*memory);
        ASSERT_EQ(fake_cuda().fill(0, address_of(*memory), 1, 8, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    }
}

TEST_F(DeviceBufferTest, LendingConcernsGpuMemoryOnly) {
    lend(*on_host("abc"));
    EXPECT_EQ(fake_cuda().calls("cuCtxSynchronize"), 0);
}

TEST_F(DeviceBufferTest, ADriverThatFailsIsNotToldOf) {
    Ref<DeviceBuffer> memory = DeviceBuffer::allocate(0, 8);
    auto pinned = make_ref<PinnedBuffer>(8);
    const auto kept = address_of(*memory);
    void* const kept_pinned = pinned->data();
    fake_cuda().fail("cuCtxPushCurrent", 1, 2, 700);
    memory = nullptr;
    pinned = nullptr;
    EXPECT_EQ(fake_cuda().live("DeviceMemory"), 1U);  // lost
    EXPECT_EQ(fake_cuda().live("PinnedMemory"), 1U);
    const CudaStream stream(CudaDevice::get(0));
    EXPECT_EQ(stream.device().functions().cuMemFreeAsync(kept, stream.get()), CUDA_SUCCESS);
    EXPECT_EQ(stream.device().functions().cuMemFreeHost(kept_pinned), CUDA_SUCCESS);
}

int unlocked = 0;
int relocked = 0;
bool locked = true;

TEST_F(DeviceBufferTest, GivesUpALockWhileItWaits) {
    static constexpr UnlockedWait::Lock lock = {[]() noexcept -> void* { return locked ? &++unlocked : nullptr; },
                                                [](void* state) noexcept { relocked += state == &unlocked ? 1 : 0; }};
    UnlockedWait::set_lock(&lock);
    DeviceBuffer::allocate(0, 8, DeviceBuffer::Use::shareable);
    EXPECT_EQ(unlocked, 1);
    const auto lent = [] { lend(*DeviceBuffer::allocate(0, 8)); };
    lent();
    EXPECT_EQ(unlocked, 2);
    PinnedBuffer(8);
    EXPECT_EQ(unlocked, 3);
    DeviceBuffer::allocate(0, 8);  // is freed by the stream: nothing is waited for
    EXPECT_EQ(unlocked, 3);
    EXPECT_EQ(relocked, 3);
    locked = false;
    lent();
    EXPECT_EQ(relocked, 3);
    UnlockedWait::set_lock(nullptr);
}

TEST_F(TransferTest, EveryWay) {
    const std::string text = "what is to be copied";
    for (const MemoryPlace& from : places) {
        for (const MemoryPlace& to : places) {
            const Ref<Buffer> source = transfer(on_host(text), from);
            const Ref<Buffer> target = transfer(source, to);
            EXPECT_TRUE(is_at(*source, from));
            EXPECT_TRUE(is_at(*target, to)) << place_text(from) << " to " << place_text(to);
            EXPECT_EQ(content(*target), text) << place_text(from) << " to " << place_text(to);
            EXPECT_EQ(target.get() == source.get(), is_at(*source, to));
            const Ref<Buffer> copy = copy_to(*source, to);
            EXPECT_NE(copy->data(), source->data());
            EXPECT_EQ(content(*copy), text);
            const Ref<Buffer> nothing = copy_to(*transfer(on_host(""), from), to);
            EXPECT_EQ(nothing->byte_size(), 0U);
            EXPECT_TRUE(is_at(*nothing, to));
        }
    }
}

TEST_F(TransferTest, EveryFailureIsToldAndLeavesNothing) {
    for (const MemoryPlace& from : places) {
        for (const MemoryPlace& to : places) {
            const Ref<Buffer> source = transfer(on_host("abcd"), from);
            for (const char* const function :
                 {"cuMemAllocAsync", "cuMemHostAlloc", "cuMemcpyAsync", "cuMemcpyPeerAsync", "cuStreamSynchronize",
                  "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuCtxPushCurrent"}) {
                fake_cuda().reset();
                fake_cuda().fail(function, 1, 1, CUDA_ERROR_OUT_OF_MEMORY);
                try {
                    EXPECT_EQ(content(*copy_to(*source, to)), "abcd");
                    EXPECT_EQ(fake_cuda().calls(function), 0) << function;
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE) << error.message();
                    EXPECT_GT(fake_cuda().calls(function), 0) << function;
                }
                EXPECT_EQ(cuda_breaches(), "") << function;
            }
            fake_cuda().reset();
            finish_cuda_work();
            EXPECT_EQ(fake_cuda().live("DeviceMemory"), from.memory_type == TRITONSERVER_MEMORY_GPU ? 1U : 0U);
            EXPECT_EQ(fake_cuda().live("PinnedMemory"), from.memory_type == TRITONSERVER_MEMORY_CPU_PINNED ? 1U : 0U);
        }
    }
}

TEST_F(TransferTest, NamesPlaces) {
    EXPECT_EQ(place_text(places[0]), "host memory");
    EXPECT_EQ(place_text(places[1]), "pinned host memory");
    EXPECT_EQ(place_text(places[3]), "GPU 1");
    EXPECT_TRUE(is_at(*on_host("a"), {TRITONSERVER_MEMORY_CPU, 5}));  // the host has one memory
}

TEST_F(DeviceGatherTest, OrdersElements) {
    const Ref<Buffer> memory = transfer(on_host("abcdefghijkl"), {TRITONSERVER_MEMORY_GPU, 1});
    const auto gathered = [&](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::size_t offset) {
        const Layout layout{std::move(shape), std::move(strides), 1, false};
        return content(*gather_on_device(layout, static_cast<const char*>(memory->data()) + offset, 1));
    };
    EXPECT_EQ(gathered({4, 3}, {1, 4}, 0), "aeibfjcgkdhl");
    EXPECT_EQ(gathered({3}, {-4}, 11), "lhd");
    EXPECT_EQ(gathered({2, 3}, {-6, 2}, 6), "gikace");
    EXPECT_EQ(gathered({3}, {0}, 5), "fff");
    EXPECT_EQ(gathered({}, {}, 7), "h");
    EXPECT_EQ(gathered({2, 0}, {5, 5}, 0), "");
    EXPECT_EQ(gathered({1, 2}, {INT64_MAX, 11}, 0), "al");
}

TEST_F(DeviceGatherTest, RefusesWhatNoMemoryHolds) {
    const Layout layout{{3, 3}, {INT64_MAX / 2, INT64_MAX / 2}, 1, false};
    EXPECT_EQ(error_of([&] { gather_on_device(layout, nullptr, 0); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    const Layout beyond{{9}, {2}, 1, false};
    const Ref<Buffer> memory = transfer(on_host("abcdefgh"), {TRITONSERVER_MEMORY_GPU, 0});
    EXPECT_EQ(error_of([&] { gather_on_device(beyond, memory->data(), 0); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

}  // namespace
}  // namespace triton_inprocess::testing
