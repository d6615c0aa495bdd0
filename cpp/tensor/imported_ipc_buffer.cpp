#include "tensor/imported_ipc_buffer.h"

#include <exception>
#include <string>

#include "runtime/error.h"
#include "tensor/cuda_context.h"
#include "tensor/unlocked_wait.h"

namespace triton_inprocess {

ImportedIpcBuffer::ImportedIpcBuffer(const IpcMemoryHandle& handle, bool read_only)
    : Buffer(nullptr, handle.byte_size, TRITONSERVER_MEMORY_GPU, handle.device, read_only),
      device_(&CudaDevice::get(handle.device)) {
    const CudaContext context(*device_);
    const CudaFunctions& functions = device_->functions();
    device_->driver().check(functions.cuIpcOpenMemHandle(&base_, handle.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                            "opening another process's memory of " + device_->name());
    CUdeviceptr start = 0;
    std::size_t available = 0;
    const CUresult result = functions.cuMemGetAddressRange(&start, &available, base_);
    // The destructor does not run when this fails.
    if (result != CUDA_SUCCESS) {
        close();
        device_->driver().check(result, "cuMemGetAddressRange for another process's memory");
    }
    if (handle.offset > available || handle.byte_size > available - handle.offset) {
        close();
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the handle claims " + std::to_string(handle.byte_size) +
                                                        " bytes at offset " + std::to_string(handle.offset) +
                                                        ", but the allocation has " + std::to_string(available));
    }
    data_ = reinterpret_cast<void*>(base_ + handle.offset);
}

ImportedIpcBuffer::~ImportedIpcBuffer() {
    close();
}

void ImportedIpcBuffer::close() const noexcept {
    if (CudaDriver::in_use() == nullptr) {
        return;  // a forked child has a copy of this object, but has not opened the memory
    }
    try {
        const CudaContext context(*device_);
        const UnlockedWait unlocked;
        // Closing does not wait for what still uses the memory.
        static_cast<void>(device_->functions().cuCtxSynchronize());
        static_cast<void>(device_->functions().cuIpcCloseMemHandle(base_));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // The driver is gone or broken, and the mapping with it.
    }
}

}  // namespace triton_inprocess
