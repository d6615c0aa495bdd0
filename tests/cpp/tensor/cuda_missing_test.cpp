// Where there is no driver, or none that will do.
#include <cstdlib>

#include "support/fake_cuda.h"
#include "support/fake_triton.h"
#include "tensor/cuda_device.h"
#include "tensor/host_buffer_pool.h"
#include "tensor/transfer.h"

namespace triton_inprocess::testing {
namespace {

Error error_with(const char* library) {
    setenv(CudaDriver::library_variable, library, 1);
    return error_of([] { CudaDriver::instance(); });
}

TEST(CudaMissingTest, SaysWhatItLookedFor) {
    const Error error = error_with("/nowhere/libcuda.so.1");
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_NE(error.message().find("'/nowhere/libcuda.so.1' cannot be loaded"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("$TRITON_INPROCESS_CUDA"), std::string::npos) << error.message();
    EXPECT_EQ(CudaDriver::in_use(), nullptr);
}

TEST(CudaMissingTest, NamesWhatALibraryLacks) {
    const Error error = error_with("libm.so.6");
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_NE(error.message().find("it lacks cuInit, cuDriverGetVersion"), std::string::npos) << error.message();
    EXPECT_EQ(error.message().find("cuMemAllocAsync"), std::string::npos) << error.message();
}

TEST(CudaMissingTest, HostMemoryNeedsNoDriver) {
    setenv(CudaDriver::library_variable, "/nowhere/libcuda.so.1", 1);
    const Ref<Buffer> source = HostBufferPool::instance().allocate(4);
    EXPECT_EQ(transfer(source, {TRITONSERVER_MEMORY_CPU, 0}).get(), source.get());
    for (const MemoryType type : {TRITONSERVER_MEMORY_GPU, TRITONSERVER_MEMORY_CPU_PINNED}) {
        EXPECT_EQ(error_of([&] { transfer(source, {type, 0}); }).code(), TRITONSERVER_ERROR_UNSUPPORTED);
    }
}

TEST(CudaMissingTest, WhatFailedIsTriedAgain) {
    fake_cuda().set_devices(0);
    setenv(CudaDriver::library_variable, TRITON_INPROCESS_TEST_CUDA, 1);
    const Error error = error_of([] { CudaDriver::instance(); });
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_NE(error.message().find("CUDA_ERROR_NO_DEVICE"), std::string::npos) << error.message();
    fake_cuda().set_devices(1);
    EXPECT_EQ(CudaDriver::instance().device_count(), 1);
    EXPECT_EQ(error_of([] { CudaDevice::get(1); }).message(), "there is no GPU 1: this process sees GPU 0 only");
    EXPECT_EQ(error_of([] { CudaDevice::get(-1); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

}  // namespace
}  // namespace triton_inprocess::testing
