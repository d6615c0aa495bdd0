#include "tensor/cuda_device.h"

#include <map>
#include <memory>
#include <new>

#include "runtime/error.h"

namespace triton_inprocess {

CudaDevice& CudaDevice::get(std::int64_t id) {
    const CudaDriver& driver = CudaDriver::instance();
    if (id < 0 || id >= driver.device_count()) {
        const bool one = driver.device_count() == 1;
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "there is no GPU " + std::to_string(id) + ": this process sees " +
                        (one ? "GPU 0 only" : "GPU 0 to " + std::to_string(driver.device_count() - 1)));
    }
    // Never destroyed: memory may be let go until the process ends.
    static auto* const mutex = std::make_unique<std::mutex>().release();
    static auto* const devices = std::make_unique<std::map<std::int64_t, std::unique_ptr<CudaDevice>>>().release();
    const std::scoped_lock guard(*mutex);
    std::unique_ptr<CudaDevice>& device = (*devices)[id];
    if (!device) {
        device.reset(new CudaDevice(driver, id));  // NOLINT(cppcoreguidelines-owning-memory): it is private
    }
    return *device;
}

CudaDevice::CudaDevice(const CudaDriver& driver, std::int64_t id) : driver_(&driver), id_(id) {
    CUdevice device = 0;
    driver.check(functions().cuDeviceGet(&device, static_cast<int>(id)), "cuDeviceGet for " + name());
    const auto has = [&](CUdevice_attribute attribute) {
        int value = 0;
        driver.check(functions().cuDeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute for " + name());
        return value != 0;
    };
    if (!has(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    name() + " has no unified addressing: what an address belongs to cannot be told");
    }
    has_memory_pools_ = functions().cuMemAllocAsync != nullptr && functions().cuMemFreeAsync != nullptr &&
                        has(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    // Kept until the process ends, as the streams and what lies in its memory are.
    driver.check(functions().cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain for " + name());
}

CUstream CudaDevice::take_stream() noexcept {
    const std::scoped_lock guard(mutex_);
    if (streams_.empty()) {
        return nullptr;
    }
    CUstream const stream = streams_.back();
    streams_.pop_back();
    return stream;
}

void CudaDevice::keep_stream(CUstream stream) noexcept {
    try {
        const std::scoped_lock guard(mutex_);
        streams_.push_back(stream);
    } catch (const std::bad_alloc&) {
        static_cast<void>(functions().cuStreamDestroy(stream));
    }
}

}  // namespace triton_inprocess
