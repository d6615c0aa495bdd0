// The driver, its devices and streams.
#include "tensor/cuda_driver.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "support/fake_cuda.h"
#include "support/fake_triton.h"
#include "tensor/cuda_event.h"
#include "tensor/cuda_stream.h"
#include "tensor/device_buffer.h"

namespace triton_inprocess::testing {
namespace {

using CudaDriverTest = CudaTest;
using CudaStreamTest = CudaTest;

TEST_F(CudaDriverTest, IsOne) {
    EXPECT_EQ(&CudaDriver::instance(), &CudaDriver::instance());
    EXPECT_EQ(CudaDriver::in_use(), &CudaDriver::instance());
    EXPECT_EQ(&CudaDevice::get(1), &CudaDevice::get(1));
    EXPECT_EQ(CudaDevice::get(1).name(), "GPU 1");
    EXPECT_EQ(CudaDriver::instance().path(), TRITON_INPROCESS_TEST_CUDA);
}

TEST_F(CudaDriverTest, TellsResultsAsErrors) {
    const CudaDriver& driver = CudaDriver::instance();
    driver.check(CUDA_SUCCESS, "nothing");
    const auto error = [&](int result) {
        return error_of([&] { driver.check(static_cast<CUresult>(result), "this"); });
    };
    EXPECT_EQ(error(CUDA_ERROR_OUT_OF_MEMORY).message(), "this failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    EXPECT_EQ(error(CUDA_ERROR_OUT_OF_MEMORY).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error(CUDA_ERROR_INVALID_VALUE).code(), TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error(CUDA_ERROR_NOT_SUPPORTED).code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_EQ(error(700).code(), TRITONSERVER_ERROR_INTERNAL);
    EXPECT_EQ(error(700).message(), "this failed: CUDA error 700");
}

TEST_F(CudaStreamTest, IsUsedAgain) {
    CudaDevice& device = CudaDevice::get(0);
    CUstream first = nullptr;
    {
        const CudaStream stream(device);
        first = stream.get();
        EXPECT_EQ(fake_cuda().context_depth(), 1U);
        const CudaStream other(device);
        EXPECT_NE(other.get(), first);
    }
    EXPECT_EQ(fake_cuda().context_depth(), 0U);
    EXPECT_EQ(CudaStream(device).get(), first);
}

TEST_F(CudaStreamTest, WaitsForWhatItWasGiven) {
    std::array<char, 4> host = {1, 2, 3, 4};
    const Ref<DeviceBuffer> memory = DeviceBuffer::allocate(0, host.size());
    {
        CudaStream stream(CudaDevice::get(0));
        stream.copy(memory->data(), host.data(), host.size());
        EXPECT_NE(fake_cuda().live("Pending"), 0U);
    }
    EXPECT_EQ(fake_cuda().live("Pending"), 0U);
    std::array<char, 4> found = {};
    ASSERT_TRUE(fake_cuda().read(address_of(*memory), found.data(), found.size()));
    EXPECT_EQ(found, host);
}

TEST_F(CudaStreamTest, IsNotUsedAgainAfterAFailure) {
    CudaDevice& device = CudaDevice::get(0);
    std::array<char, 4> host = {};
    const Ref<DeviceBuffer> memory = DeviceBuffer::allocate(0, host.size());
    const std::uint64_t streams = fake_cuda().live("Stream");
    fake_cuda().fail("cuStreamSynchronize", 1, 2, 700);
    {
        CudaStream stream(device);
        stream.copy(memory->data(), host.data(), host.size());
        EXPECT_EQ(error_of([&] { stream.synchronize(); }).message(),
                  "waiting for a stream of GPU 0 failed: CUDA error 700");
    }
    EXPECT_EQ(fake_cuda().live("Stream"), streams - 1);
    finish_cuda_work();  // before `host` goes
}

TEST_F(CudaStreamTest, AnotherStreamWaitsForTheDefaultOne) {
    CudaDevice& device = CudaDevice::get(1);
    const Ref<DeviceBuffer> memory = DeviceBuffer::allocate(1, 1);
    const auto address = address_of(*memory);
    ASSERT_EQ(fake_cuda().fill(1, address, 9, 1, CU_STREAM_LEGACY), CUDA_SUCCESS);
    // The per-thread stream of another GPU: nothing but the event orders the two.
    auto* const consumer = reinterpret_cast<CUstream>(CU_STREAM_PER_THREAD);
    const CudaContext other(CudaDevice::get(0));
    wait_for_default_stream(device, consumer);
    const std::int64_t waited = fake_cuda().calls("cuStreamSynchronize");
    EXPECT_EQ(fake_cuda().calls("cuStreamWaitEvent"), 1);
    EXPECT_EQ(fake_cuda().calls("cuStreamSynchronize"), waited);
    wait_for_stream(device, consumer);
    char found = 0;
    ASSERT_TRUE(fake_cuda().read(address, &found, 1));
    EXPECT_EQ(found, 9);
    fake_cuda().reset();
    wait_for_default_stream(device, reinterpret_cast<CUstream>(CU_STREAM_LEGACY));
    EXPECT_EQ(fake_cuda().calls("cuEventCreate"), 0);
}

TEST_F(CudaStreamTest, AnEventThatFailsIsDestroyed) {
    const CudaDevice& device = CudaDevice::get(0);
    const CudaContext context(device);
    fake_cuda().fail("cuEventRecord", 1, 1, 700);
    EXPECT_EQ(error_of([&] { CudaEvent(device, nullptr); }).code(), TRITONSERVER_ERROR_INTERNAL);
    EXPECT_EQ(fake_cuda().live("Event"), 0U);
}

TEST_F(CudaStreamTest, ManyThreads) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([i] {
            for (int j = 0; j < 50; ++j) {
                const int device = (i + j) % 2;
                std::array<char, 16> host = {};
                host.fill(static_cast<char>(i * 50 + j));
                Ref<DeviceBuffer> memory;
                std::array<char, 16> found = {};
                CudaStream stream(CudaDevice::get(device));
                memory = make_ref<DeviceBuffer>(stream, host.size(), DeviceBuffer::Use::local);
                stream.copy(memory->data(), host.data(), host.size());
                stream.copy(found.data(), memory->data(), found.size());
                stream.synchronize();
                EXPECT_EQ(found, host);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace
}  // namespace triton_inprocess::testing
