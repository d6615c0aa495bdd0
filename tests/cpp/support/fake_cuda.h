// The fake libcuda, as the driver of the process, and commanded.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "fake_cuda/control.h"
#include "tensor/buffer.h"

namespace triton_inprocess::testing {

/// Its control functions; see control.h.
struct FakeCuda {
    decltype(&fake_cuda_set_devices) set_devices;
    decltype(&fake_cuda_set_memory_pools) set_memory_pools;
    decltype(&fake_cuda_fail) fail;
    decltype(&fake_cuda_delay) delay;
    decltype(&fake_cuda_calls) calls;
    decltype(&fake_cuda_log) log;
    decltype(&fake_cuda_breaches) breaches;
    decltype(&fake_cuda_live) live;
    decltype(&fake_cuda_context_depth) context_depth;
    decltype(&fake_cuda_read) read;
    decltype(&fake_cuda_write) write;
    decltype(&fake_cuda_fill) fill;
    decltype(&fake_cuda_reset) reset;
};

/// Loads it and names it in the environment, once.
const FakeCuda& fake_cuda();

/// What broke a rule since the last reset.
std::string cuda_breaches();

/// Where the memory lies, as the fake wants to be told.
std::uintptr_t address_of(const Buffer& buffer);

/// Waits for all that GPUs were given, as if somebody else did.
void finish_cuda_work();

/// A test with the driver; what it tells the fake is forgotten afterwards, and nothing may be left over.
class CudaTest : public ::testing::Test {
  protected:
    void SetUp() override;
    void TearDown() override;
};

}  // namespace triton_inprocess::testing
