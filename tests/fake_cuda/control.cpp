#include "control.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "calls.h"
#include "state.h"

namespace {

std::size_t copy_text(const std::string& from, char* text, std::size_t size) {
    if (size != 0) {
        const std::size_t length = std::min(from.size(), size - 1);
        std::memcpy(text, from.data(), length);
        text[length] = '\0';
    }
    return from.size();
}

}  // namespace

void fake_cuda_set_devices(std::int32_t count) {
    fake_cuda::State& state = fake_cuda::State::instance();
    const std::scoped_lock guard(state.mutex);
    state.devices = std::min(count, fake_cuda::most_devices);
}

void fake_cuda_set_memory_pools(bool have) {
    fake_cuda::State& state = fake_cuda::State::instance();
    const std::scoped_lock guard(state.mutex);
    state.memory_pools = have;
}

bool fake_cuda_fail(const char* function, std::uint64_t first, std::uint64_t count, std::int32_t result) {
    return fake_cuda::Calls::instance().plan(function, first, count, static_cast<CUresult>(result));
}

void fake_cuda_delay(std::uint32_t milliseconds) {
    fake_cuda::State::instance().delay.store(milliseconds);
}

std::int64_t fake_cuda_calls(const char* function) {
    return fake_cuda::Calls::instance().count(function);
}

std::size_t fake_cuda_log(char* text, std::size_t size) {
    return copy_text(fake_cuda::Calls::instance().log(), text, size);
}

std::size_t fake_cuda_breaches(char* text, std::size_t size) {
    return copy_text(fake_cuda::Calls::instance().breaches(), text, size);
}

std::uint64_t fake_cuda_live(const char* kind) {
    using Kind = fake_cuda::Allocation::Kind;
    fake_cuda::State& state = fake_cuda::State::instance();
    const std::scoped_lock guard(state.mutex);
    const std::string name = kind;
    if (name == "DeviceMemory") {
        return state.memory.count(Kind::device);
    }
    if (name == "PinnedMemory") {
        return state.memory.count(Kind::pinned);
    }
    if (name == "ImportedMemory") {
        return state.memory.count(Kind::imported);
    }
    if (name == "Stream") {
        return state.streams.size();
    }
    if (name == "Event") {
        return state.events.size();
    }
    return name == "Pending" ? state.work.pending() : UINT64_MAX;
}

std::uint64_t fake_cuda_context_depth() {
    return fake_cuda::pushed().size();
}

bool fake_cuda_read(std::uintptr_t address, void* target, std::size_t byte_size) {
    fake_cuda::State& state = fake_cuda::State::instance();
    const std::scoped_lock guard(state.mutex);
    if (!state.memory.find(address) || !state.memory.whole(address, byte_size)) {
        return false;
    }
    std::memcpy(target, state.memory.pointer(address), byte_size);
    return true;
}

bool fake_cuda_write(std::uintptr_t address, const void* source, std::size_t byte_size) {
    fake_cuda::State& state = fake_cuda::State::instance();
    const std::scoped_lock guard(state.mutex);
    if (!state.memory.find(address) || !state.memory.whole(address, byte_size)) {
        return false;
    }
    std::memcpy(state.memory.pointer(address), source, byte_size);
    return true;
}

std::int32_t fake_cuda_fill(std::int32_t device, std::uintptr_t address, std::uint8_t value, std::size_t byte_size,
                            std::uintptr_t stream) {
    fake_cuda::State& state = fake_cuda::State::instance();
    const std::scoped_lock guard(state.mutex);
    if (device < 0 || device >= state.devices) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    CUstream const found =
        state.find(reinterpret_cast<CUstream>(stream), &state.contexts[static_cast<std::size_t>(device)]);
    const auto allocation = state.memory.find(address);
    if (found == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!allocation || !state.memory.whole(address, byte_size)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    state.work.put(found,
                   [&state, address, value, byte_size] {
                       if (state.memory.find(address)) {
                           std::memset(state.memory.pointer(address), value, byte_size);
                       }
                   },
                   {allocation->address});
    return CUDA_SUCCESS;
}

void fake_cuda_reset() {
    fake_cuda::Calls::instance().reset();
    fake_cuda_delay(0);
}
