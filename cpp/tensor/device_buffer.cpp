#include "tensor/device_buffer.h"

#include <exception>
#include <string>

#include "tensor/unlocked_wait.h"

namespace triton_inprocess {

Ref<DeviceBuffer> DeviceBuffer::allocate(std::int64_t device, std::size_t byte_size, Use use) {
    Ref<DeviceBuffer> buffer;  // outlives the stream, which waits for the allocation if something fails
    CudaStream stream(CudaDevice::get(device));
    buffer = make_ref<DeviceBuffer>(stream, byte_size, use);
    stream.synchronize();
    return buffer;
}

DeviceBuffer::DeviceBuffer(const CudaStream& stream, std::size_t byte_size, Use use)
    : Buffer(nullptr, byte_size, TRITONSERVER_MEMORY_GPU, stream.device().id(), false),
      device_(&stream.device()),
      pooled_(use == Use::local && stream.device().has_memory_pools()) {
    if (byte_size == 0) {
        return;  // the driver allocates no nothing
    }
    const CudaFunctions& functions = device_->functions();
    CUdeviceptr address = 0;
    const CUresult result = pooled_ ? functions.cuMemAllocAsync(&address, byte_size, stream.get())
                                    : functions.cuMemAlloc(&address, byte_size);
    device_->driver().check(result, "allocating " + std::to_string(byte_size) + " bytes on " + device_->name());
    data_ = reinterpret_cast<void*>(address);
}

DeviceBuffer::~DeviceBuffer() {
    if (data_ == nullptr || CudaDriver::in_use() == nullptr) {
        return;  // a forked child has a copy of this object, but not of the memory
    }
    const CudaFunctions& functions = device_->functions();
    const auto address = reinterpret_cast<CUdeviceptr>(data_);
    try {
        if (!pooled_) {
            const CudaContext context(*device_);
            const UnlockedWait unlocked;
            static_cast<void>(functions.cuMemFree(address));  // which waits for the GPU's work
            return;
        }
        const CudaStream stream(*device_);
        if (lent_.load(std::memory_order_relaxed)) {
            const UnlockedWait unlocked;
            static_cast<void>(functions.cuCtxSynchronize());
        }
        static_cast<void>(functions.cuMemFreeAsync(address, stream.get()));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // The driver is gone or broken, and the memory with it.
    }
}

void lend(const Buffer& buffer) noexcept {
    if (const auto* const device = dynamic_cast<const DeviceBuffer*>(&buffer.root())) {
        device->lend();
    }
}

}  // namespace triton_inprocess
