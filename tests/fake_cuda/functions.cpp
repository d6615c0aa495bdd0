#include <unistd.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "calls.h"
#include "implementation.h"
#include "state.h"

namespace fake_cuda::implementation {
namespace {

/// The state, locked, and the context of the calling thread.
struct Scope {
    State& state = State::instance();
    std::scoped_lock<std::mutex> guard{state.mutex};
    CUcontext context = pushed().empty() ? nullptr : pushed().back();

    CUstream stream(CUstream handle) const { return state.find(handle, context); }
};

/// What the handle of exported memory holds.
struct Exported {
    std::uint64_t mark;
    std::int64_t process;
    std::int64_t file;
    std::uint64_t byte_size;
    std::int64_t device;
};
static_assert(sizeof(Exported) <= sizeof(CUipcMemHandle));
constexpr std::uint64_t exported_mark = 0x66616B6563756461;

std::vector<std::uintptr_t> allocations(const Memory& memory, std::uintptr_t first, std::uintptr_t second) {
    std::vector<std::uintptr_t> result;
    for (const std::uintptr_t address : {first, second}) {
        if (const auto found = memory.find(address)) {
            result.push_back(found->address);
        }
    }
    return result;
}

CUresult put_copy(const Scope& scope, CUdeviceptr target, CUdeviceptr source, std::size_t byte_size, CUstream handle) {
    CUstream const stream = scope.stream(handle);
    Memory& memory = scope.state.memory;
    if (scope.context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (target == 0 || source == 0 || !memory.whole(target, byte_size) || !memory.whole(source, byte_size)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto used = allocations(memory, target, source);
    const auto expected = used.size();
    scope.state.work.put(
        stream,
        [&memory, target, source, byte_size, expected] {
            if (allocations(memory, target, source).size() == expected) {  // else it is a breach already
                std::memmove(memory.pointer(target), memory.pointer(source), byte_size);
            }
        },
        std::move(used));
    return CUDA_SUCCESS;
}

void erase(State& state, std::uintptr_t address) {
    if (state.work.uses(address)) {
        Calls::instance().breach("memory was freed while an operation that uses it was pending");
    }
    state.memory.erase(address);
}

const char* name_of(CUresult result) {
    switch (result) {
        case CUDA_SUCCESS:
            return "CUDA_SUCCESS";
        case CUDA_ERROR_INVALID_VALUE:
            return "CUDA_ERROR_INVALID_VALUE";
        case CUDA_ERROR_OUT_OF_MEMORY:
            return "CUDA_ERROR_OUT_OF_MEMORY";
        case CUDA_ERROR_NO_DEVICE:
            return "CUDA_ERROR_NO_DEVICE";
        case CUDA_ERROR_INVALID_CONTEXT:
            return "CUDA_ERROR_INVALID_CONTEXT";
        case CUDA_ERROR_INVALID_HANDLE:
            return "CUDA_ERROR_INVALID_HANDLE";
        default:
            return nullptr;
    }
}

}  // namespace

CUresult cuInit(unsigned flags) {
    const Scope scope;
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (scope.state.devices == 0) {
        return CUDA_ERROR_NO_DEVICE;
    }
    scope.state.process = getpid();
    return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
    *version = 12040;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
    *text = name_of(error);
    return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
    *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "as the fake says";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    *count = Scope().state.devices;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (ordinal < 0 || ordinal >= Scope().state.devices) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice /*device*/) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
            *value = 1;
            return CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
            *value = Scope().state.memory_pools ? 1 : 0;
            return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    const Scope scope;
    if (device < 0 || device >= scope.state.devices) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    scope.state.retained[static_cast<std::size_t>(device)] = true;
    *context = &scope.state.contexts[static_cast<std::size_t>(device)];
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
    if (context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    pushed().push_back(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
    if (pushed().empty()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *context = pushed().back();
    pushed().pop_back();
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
    std::this_thread::sleep_for(std::chrono::milliseconds(State::instance().delay.load()));
    const Scope scope;
    if (scope.context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    scope.state.work.wait_for_all(scope.context);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    const Scope scope;
    if (scope.context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    auto* const made = new CUstream_st;
    made->context = scope.context;
    made->ordered_with_default = flags == CU_STREAM_DEFAULT;
    scope.state.streams.insert(made);
    scope.context->streams.insert(made);
    *stream = made;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
    const Scope scope;
    if (scope.state.streams.erase(stream) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    stream->context->streams.erase(stream);  // what it was given stays pending
    delete stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
    std::this_thread::sleep_for(std::chrono::milliseconds(State::instance().delay.load()));
    const Scope scope;
    CUstream const stream = scope.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    scope.state.work.wait(stream->last);
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
    const Scope scope;
    CUstream const stream = scope.stream(handle);
    if (stream == nullptr || scope.state.events.count(event) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto operation = scope.state.work.put(stream, [] {}, {});
    if (event->point && !event->point->done) {
        operation->after.push_back(event->point);
    }
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned /*flags*/) {
    const Scope scope;
    if (scope.context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *event = new CUevent_st;
    (*event)->context = scope.context;
    scope.state.events.insert(*event);
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
    const Scope scope;
    CUstream const stream = scope.stream(handle);
    if (stream == nullptr || scope.state.events.count(event) == 0 || stream->context != event->context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    event->point = scope.state.work.put(stream, [] {}, {});
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
    const Scope scope;
    if (scope.state.events.erase(event) == 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    delete event;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t byte_size) {
    const Scope scope;
    if (scope.context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (byte_size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto made = scope.state.memory.allocate(scope.context->device, byte_size, false);
    if (!made) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = made->address;
    return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
    std::this_thread::sleep_for(std::chrono::milliseconds(State::instance().delay.load()));
    const Scope scope;
    const auto found = scope.state.memory.find(address);
    if (!found || found->kind != Allocation::Kind::device || found->address != address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!found->pooled) {
        scope.state.work.wait_for_all(&scope.state.contexts[static_cast<std::size_t>(found->device)]);
    }
    erase(scope.state, address);
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t byte_size, CUstream handle) {
    const Scope scope;
    CUstream const stream = scope.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (byte_size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!scope.state.memory_pools) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    const auto made = scope.state.memory.allocate(stream->context->device, byte_size, true);
    if (!made) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->made = scope.state.work.put(stream, [] {}, {});
    *address = made->address;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    const Scope scope;
    CUstream const stream = scope.stream(handle);
    const auto found = scope.state.memory.find(address);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!found || !found->pooled || found->address != address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    State& state = scope.state;
    state.work.put(stream, [&state, address] { erase(state, address); }, {address});
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** address, std::size_t byte_size, unsigned /*flags*/) {
    const Scope scope;
    if (scope.context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (byte_size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto made = scope.state.memory.allocate_pinned(byte_size);
    if (!made) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = made->shadow;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void* address) {
    const Scope scope;
    const auto found = scope.state.memory.find(reinterpret_cast<std::uintptr_t>(address));
    if (!found || found->kind != Allocation::Kind::pinned || found->shadow != address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    erase(scope.state, found->address);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, std::size_t byte_size, CUstream stream) {
    return put_copy(Scope(), target, source, byte_size, stream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source, CUcontext source_context,
                           std::size_t byte_size, CUstream stream) {
    const Scope scope;
    const auto is_of = [&](CUdeviceptr address, CUcontext context) {
        const auto found = scope.state.memory.find(address);
        return found && found->kind != Allocation::Kind::pinned && found->device == context->device;
    };
    if (!is_of(target, target_context) || !is_of(source, source_context)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return put_copy(scope, target, source, byte_size, stream);
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* byte_size, CUdeviceptr address) {
    const Scope scope;
    const auto found = scope.state.memory.find(address);
    if (!found || found->kind == Allocation::Kind::pinned) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *base = found->address;
    *byte_size = found->byte_size;
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
    const Scope scope;
    const auto found = scope.state.memory.find(address);
    if (!found) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
        *static_cast<unsigned*>(value) =
            found->kind == Allocation::Kind::pinned ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    } else if (attribute == CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE) {
        *static_cast<int*>(value) = found->kind == Allocation::Kind::device && !found->pooled ? 1 : 0;
    } else {
        *static_cast<int*>(value) = found->device;
    }
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
    const Scope scope;
    const auto found = scope.state.memory.find(address);
    if (!found || found->kind != Allocation::Kind::device || found->pooled) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Exported exported = {exported_mark, getpid(), found->file, found->byte_size, found->device};
    *handle = {};
    std::memcpy(handle->reserved, &exported, sizeof(exported));
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
    const Scope scope;
    Exported exported = {};
    std::memcpy(&exported, handle.reserved, sizeof(exported));
    if (scope.context == nullptr || exported.process == getpid()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (exported.mark != exported_mark || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS ||
        exported.device != scope.context->device) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto opened = scope.state.memory.import(scope.context->device, exported.byte_size, exported.process,
                                                  static_cast<int>(exported.file));
    if (!opened) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *address = opened->address;
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    const Scope scope;
    const auto found = scope.state.memory.find(address);
    if (!found || found->kind != Allocation::Kind::imported || found->address != address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (--found->opens == 0) {
        erase(scope.state, address);
    }
    return CUDA_SUCCESS;
}

}  // namespace fake_cuda::implementation
