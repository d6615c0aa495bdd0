#include "tensor/pinned_buffer.h"

#include <exception>
#include <string>

#include "tensor/cuda_context.h"
#include "tensor/unlocked_wait.h"

namespace triton_inprocess {

// The context of any GPU will do: portable memory is pinned for all of them.
PinnedBuffer::PinnedBuffer(std::size_t byte_size)
    : Buffer(nullptr, byte_size, TRITONSERVER_MEMORY_CPU_PINNED, 0, false), device_(&CudaDevice::get(0)) {
    if (byte_size == 0) {
        return;  // the driver allocates no nothing
    }
    const CudaContext context(*device_);
    device_->driver().check(device_->functions().cuMemHostAlloc(&data_, byte_size, CU_MEMHOSTALLOC_PORTABLE),
                            "allocating " + std::to_string(byte_size) + " bytes of pinned memory");
}

PinnedBuffer::~PinnedBuffer() {
    if (data_ == nullptr || CudaDriver::in_use() == nullptr) {
        return;  // a forked child has a copy of this object, but not of the memory
    }
    try {
        const CudaContext context(*device_);
        const UnlockedWait unlocked;
        static_cast<void>(device_->functions().cuMemFreeHost(data_));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // The driver is gone or broken, and the memory with it.
    }
}

}  // namespace triton_inprocess
