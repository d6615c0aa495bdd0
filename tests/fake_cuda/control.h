// How a test commands the fake libcuda. The functions have C linkage: C++ finds them by dlsym in the library that it
// has loaded, Python by ctypes. All of them may be called on any thread, and before cuInit.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
#define FAKE_CUDA_CONTROL __attribute__((visibility("default")))

/// How many GPUs there are; 2 by default. What is in use stays.
FAKE_CUDA_CONTROL void fake_cuda_set_devices(std::int32_t count);

/// Whether the GPUs have memory pools; they have by default.
FAKE_CUDA_CONTROL void fake_cuda_set_memory_pools(bool have);

/// Makes calls of the function, by its documented name, return `result` instead of doing anything: the `first`-th call
/// from now on (1: the next one) and those after it, `count` in all (0: for ever). Replaces what was said of that
/// function before. False for a function that does not exist.
FAKE_CUDA_CONTROL bool fake_cuda_fail(const char* function, std::uint64_t first, std::uint64_t count,
                                      std::int32_t result);

/// Has every wait for a stream or a whole GPU take that much longer.
FAKE_CUDA_CONTROL void fake_cuda_delay(std::uint32_t milliseconds);

/// How often the function was called; also calls that were made to fail count. -1 for one that does not exist.
FAKE_CUDA_CONTROL std::int64_t fake_cuda_calls(const char* function);

/// Every call since the last reset, one a line: "cuMemFree(0x7f0000001000) = 0". Writes what fits into `text`, with a
/// NUL; returns how long the whole is.
FAKE_CUDA_CONTROL std::size_t fake_cuda_log(char* text, std::size_t size);

/// The same for what broke a rule that the true driver does not check: a line for each.
FAKE_CUDA_CONTROL std::size_t fake_cuda_breaches(char* text, std::size_t size);

/// How many there are of "DeviceMemory", "PinnedMemory", "ImportedMemory", "Stream", "Event" or "Pending", which are
/// operations that no stream has come to.
FAKE_CUDA_CONTROL std::uint64_t fake_cuda_live(const char* kind);

/// How many contexts the calling thread has pushed and not popped.
FAKE_CUDA_CONTROL std::uint64_t fake_cuda_context_depth();

/// What the memory of a GPU is now, whatever is pending; false for what is none.
FAKE_CUDA_CONTROL bool fake_cuda_read(std::uintptr_t address, void* target, std::size_t byte_size);
FAKE_CUDA_CONTROL bool fake_cuda_write(std::uintptr_t address, const void* source, std::size_t byte_size);

/// Somebody's kernel: has a stream, as seen by the primary context of `device`, fill memory when its turn comes.
/// Returns a CUresult.
FAKE_CUDA_CONTROL std::int32_t fake_cuda_fill(std::int32_t device, std::uintptr_t address, std::uint8_t value,
                                              std::size_t byte_size, std::uintptr_t stream);

/// Forgets faults, the delay, the log, breaches and counts. Memory, streams and what is pending stay.
FAKE_CUDA_CONTROL void fake_cuda_reset();

#undef FAKE_CUDA_CONTROL
}
