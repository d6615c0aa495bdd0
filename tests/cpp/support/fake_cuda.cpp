#include "support/fake_cuda.h"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "support/symbols.h"
#include "tensor/cuda_context.h"

namespace triton_inprocess::testing {
namespace {

FakeCuda resolve_cuda() {
    setenv(CudaDriver::library_variable, TRITON_INPROCESS_TEST_CUDA, 1);
    void* const library = dlopen(TRITON_INPROCESS_TEST_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw std::runtime_error(dlerror());
    }
    const auto set = [library](auto& pointer, const char* name) { set_to_symbol(library, pointer, name); };
    FakeCuda result = {};
    set(result.set_devices, "fake_cuda_set_devices");
    set(result.set_memory_pools, "fake_cuda_set_memory_pools");
    set(result.fail, "fake_cuda_fail");
    set(result.delay, "fake_cuda_delay");
    set(result.calls, "fake_cuda_calls");
    set(result.log, "fake_cuda_log");
    set(result.breaches, "fake_cuda_breaches");
    set(result.live, "fake_cuda_live");
    set(result.context_depth, "fake_cuda_context_depth");
    set(result.read, "fake_cuda_read");
    set(result.write, "fake_cuda_write");
    set(result.fill, "fake_cuda_fill");
    set(result.reset, "fake_cuda_reset");
    return result;
}

}  // namespace

const FakeCuda& fake_cuda() {
    static const FakeCuda functions = resolve_cuda();
    return functions;
}

std::string cuda_breaches() {
    std::vector<char> text(fake_cuda().breaches(nullptr, 0) + 1);
    fake_cuda().breaches(text.data(), text.size());
    return text.data();
}

std::uintptr_t address_of(const Buffer& buffer) {
    return reinterpret_cast<std::uintptr_t>(buffer.data());
}

void finish_cuda_work() {
    for (int i = 0; i < CudaDriver::instance().device_count(); ++i) {
        const CudaDevice& device = CudaDevice::get(i);
        const CudaContext context(device);
        EXPECT_EQ(device.functions().cuCtxSynchronize(), CUDA_SUCCESS);
    }
}

void CudaTest::SetUp() {
    fake_cuda().reset();
    CudaDriver::instance();
}

void CudaTest::TearDown() {
    finish_cuda_work();
    EXPECT_EQ(cuda_breaches(), "");
    EXPECT_EQ(fake_cuda().context_depth(), 0U);
    for (const char* const kind : {"DeviceMemory", "PinnedMemory", "ImportedMemory", "Event", "Pending"}) {
        EXPECT_EQ(fake_cuda().live(kind), 0U) << kind;
    }
    fake_cuda().reset();
}

}  // namespace triton_inprocess::testing
