// GPU memory between processes: the other one is this program again.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/fake_cuda.h"
#include "support/fake_triton.h"
#include "tensor/device_buffer.h"
#include "tensor/exported_ipc_buffer.h"
#include "tensor/imported_ipc_buffer.h"
#include "tensor/ipc_memory_region.h"
#include "tensor/transfer.h"

namespace triton_inprocess::testing {
namespace {

using IpcBufferTest = CudaTest;

constexpr const char* handle_variable = "TRITON_INPROCESS_TEST_HANDLE";

std::string to_text(const IpcMemoryHandle& handle) {
    std::string text;
    std::array<unsigned char, sizeof(handle)> bytes = {};
    std::memcpy(bytes.data(), &handle, sizeof(handle));
    for (const unsigned char byte : bytes) {
        text += "0123456789abcdef"[byte / 16];
        text += "0123456789abcdef"[byte % 16];
    }
    return text;
}

IpcMemoryHandle from_text(const std::string& text) {
    std::array<unsigned char, sizeof(IpcMemoryHandle)> bytes = {};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    }
    IpcMemoryHandle handle;
    std::memcpy(&handle, bytes.data(), sizeof(handle));
    return handle;
}

/// Runs the test below in another process; whether it passed.
bool run_importer(const IpcMemoryHandle& handle) {
    setenv(handle_variable, to_text(handle).c_str(), 1);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=IpcBufferTest.DISABLED_Importer";
    std::string disabled = "--gtest_also_run_disabled_tests";
    std::array<char*, 4> arguments = {program.data(), filter.data(), disabled.data(), nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
        return false;
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A part of another buffer.
class Part final : public Buffer {
  public:
    Part(Ref<Buffer> whole, std::size_t offset, std::size_t byte_size)
        : Buffer(static_cast<char*>(whole->data()) + offset, byte_size, whole->memory_type(), whole->memory_type_id(),
                 false),
          whole_(std::move(whole)) {}

    const Buffer& root() const noexcept override { return whole_->root(); }

  private:
    Ref<Buffer> whole_;
};

/// What the other process does: finds "cdef" and writes "CDEF", all by copies.
TEST_F(IpcBufferTest, DISABLED_Importer) {
    const IpcMemoryHandle handle = from_text(std::getenv(handle_variable));
    const auto imported = make_ref<ImportedIpcBuffer>(handle);
    EXPECT_EQ(imported->memory_type(), TRITONSERVER_MEMORY_GPU);
    EXPECT_EQ(imported->memory_type_id(), 1);
    const Ref<Buffer> found = copy_to(*imported, {TRITONSERVER_MEMORY_CPU, 0});
    EXPECT_EQ(std::string(static_cast<const char*>(found->data()), found->byte_size()), "cdef");
    {
        // Opened once more, it is the same memory, and stays open until both are closed.
        const auto again = make_ref<ImportedIpcBuffer>(handle);
        EXPECT_EQ(again->data(), imported->data());
    }
    CudaStream stream(CudaDevice::get(1));
    stream.copy(imported->data(), "CDEF", 4);
    stream.synchronize();
    IpcMemoryHandle beyond = handle;
    beyond.byte_size = 100;
    EXPECT_EQ(error_of([&] { ImportedIpcBuffer{beyond}; }).message(),
              "the handle claims 100 bytes at offset 2, but the allocation has 8");
    IpcMemoryHandle elsewhere = handle;
    elsewhere.offset = UINT64_MAX;
    EXPECT_EQ(error_of([&] { ImportedIpcBuffer{elsewhere}; }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    IpcMemoryHandle wrong = handle;
    wrong.handle.reserved[0] ^= 1;
    EXPECT_EQ(error_of([&] { ImportedIpcBuffer{wrong}; }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    wrong = handle;
    wrong.device = 7;
    EXPECT_EQ(error_of([&] { ImportedIpcBuffer{wrong}; }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    fake_cuda().fail("cuMemGetAddressRange", 1, 1, CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(error_of([&] { ImportedIpcBuffer{handle}; }).code(), TRITONSERVER_ERROR_INTERNAL);
    EXPECT_EQ(fake_cuda().live("ImportedMemory"), 1U);
}

TEST_F(IpcBufferTest, AnotherProcessReadsAndWrites) {
    const Ref<DeviceBuffer> whole = DeviceBuffer::allocate(1, 8, DeviceBuffer::Use::shareable);
    ASSERT_TRUE(fake_cuda().write(address_of(*whole), "abcdefgh", 8));
    const ExportedIpcBuffer exported(make_ref<Part>(whole, 2, 4));
    EXPECT_EQ(exported.handle().offset, 2U);
    EXPECT_EQ(exported.handle().byte_size, 4U);
    EXPECT_EQ(exported.handle().device, 1);
    ASSERT_TRUE(run_importer(exported.handle()));
    std::array<char, 8> found = {};
    ASSERT_TRUE(fake_cuda().read(address_of(*whole), found.data(), found.size()));
    EXPECT_EQ(std::string(found.data(), found.size()), "abCDEFgh");
}

TEST_F(IpcBufferTest, OnlyWholeAllocationsOfAGpuAreExported) {
    const auto refused = [](Ref<Buffer> buffer) {
        const Error error = error_of([&] { ExportedIpcBuffer{std::move(buffer)}; });
        EXPECT_EQ(error.code(), TRITONSERVER_ERROR_INVALID_ARG);
        return error.message();
    };
    const Ref<DeviceBuffer> pooled = DeviceBuffer::allocate(0, 8);
    EXPECT_NE(refused(pooled).find("memory pool"), std::string::npos);
    EXPECT_NE(refused(make_ref<Part>(pooled, 2, 2)).find("memory pool"), std::string::npos);
    EXPECT_NE(refused(copy_to(*pooled, {TRITONSERVER_MEMORY_CPU, 0})).find("not host memory"), std::string::npos);
    EXPECT_NE(refused(DeviceBuffer::allocate(0, 0, DeviceBuffer::Use::shareable)).find("empty"), std::string::npos);
    const Ref<DeviceBuffer> whole = DeviceBuffer::allocate(0, 8, DeviceBuffer::Use::shareable);
    EXPECT_EQ(refused(make_ref<Part>(whole, 2, 7)), "buffer has 7 bytes, but the allocation has only 6 from there on");
    fake_cuda().fail("cuIpcGetMemHandle", 1, 1, CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(error_of([&] { ExportedIpcBuffer{whole}; }).code(), TRITONSERVER_ERROR_UNSUPPORTED);
}

TEST_F(IpcBufferTest, AProcessDoesNotOpenItsOwn) {
    const ExportedIpcBuffer exported(DeviceBuffer::allocate(1, 8, DeviceBuffer::Use::shareable));
    EXPECT_NE(error_of([&] { ImportedIpcBuffer{exported.handle()}; }).message().find("opening another process's"),
              std::string::npos);
}

TEST_F(IpcBufferTest, WhatTheDriverDoesNotExportIsKnown) {
    EXPECT_FALSE(ExportedIpcBuffer::can_export(*DeviceBuffer::allocate(0, 8)));
    const Ref<DeviceBuffer> whole = DeviceBuffer::allocate(1, 8, DeviceBuffer::Use::shareable);
    EXPECT_TRUE(ExportedIpcBuffer::can_export(*whole));
    EXPECT_TRUE(ExportedIpcBuffer::can_export(*make_ref<Part>(whole, 2, 4)));
    fake_cuda().fail("cuPointerGetAttribute", 1, 1, CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(error_of([&] { ExportedIpcBuffer::can_export(*whole); }).code(), TRITONSERVER_ERROR_INTERNAL);
}

TEST_F(IpcBufferTest, AProcessFindsItsOwnRegions) {
    const Ref<DeviceBuffer> whole = DeviceBuffer::allocate(1, 8, DeviceBuffer::Use::shareable);
    auto held = std::make_unique<IpcMemoryRegion>(IpcMemoryRegion::share(make_ref<Part>(whole, 2, 4)));
    const IpcMemoryRegion received(held->handle(), false, held->id());
    const Ref<Buffer> opened = received.open(true);
    EXPECT_EQ(opened->data(), static_cast<char*>(whole->data()) + 2);
    EXPECT_EQ(opened->byte_size(), 4U);
    EXPECT_FALSE(opened->read_only());
    EXPECT_TRUE(received.open(false)->read_only());
    EXPECT_EQ(&opened->root(), whole.get());
    for (const auto& [offset, byte_size] : {std::pair{1U, 4U}, {3U, 4U}, {2U, 5U}, {7U, 0U}}) {
        IpcMemoryHandle beyond = held->handle();
        beyond.offset = offset;
        beyond.byte_size = byte_size;
        const IpcMemoryRegion wrong(beyond, false, held->id());
        if (byte_size == 0) {
            EXPECT_EQ(wrong.open(false)->byte_size(), 0U);
        } else {
            EXPECT_EQ(error_of([&] { wrong.open(false); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
        }
    }
    const IpcMemoryRegion lent(held->handle(), true, held->id());
    EXPECT_EQ(error_of([&] { lent.open(true); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    held = nullptr;
    EXPECT_EQ(error_of([&] { received.open(false); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
}

TEST_F(IpcBufferTest, PooledMemoryIsSharedAsACopy) {
    const Ref<Buffer> pooled = DeviceBuffer::allocate(1, 4);
    ASSERT_TRUE(fake_cuda().write(address_of(*pooled), "abcd", 4));
    const IpcMemoryRegion region = IpcMemoryRegion::share(pooled);
    const Ref<Buffer> opened = region.open(false);
    EXPECT_NE(opened->data(), pooled->data());
    EXPECT_EQ(opened->memory_type_id(), 1);
    std::array<char, 4> found = {};
    ASSERT_TRUE(fake_cuda().read(address_of(*opened), found.data(), found.size()));
    EXPECT_EQ(std::string(found.data(), found.size()), "abcd");
}

TEST_F(IpcBufferTest, ThreadsShareAndOpen) {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    const Ref<Buffer> common = DeviceBuffer::allocate(0, 8, DeviceBuffer::Use::shareable);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                const IpcMemoryRegion region = IpcMemoryRegion::share(common);
                const IpcMemoryRegion received(region.handle(), false, region.id());
                wrong += received.open(false)->data() == common->data() ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace triton_inprocess::testing
