#include "tensor/exported_ipc_buffer.h"

#include <string>
#include <utility>

#include "runtime/error.h"
#include "tensor/cuda_context.h"
#include "tensor/device_buffer.h"
#include "tensor/imported_ipc_buffer.h"
#include "tensor/transfer.h"

namespace triton_inprocess {
namespace {

bool is_pooled(const Buffer& buffer) noexcept {
    const auto* const owned = dynamic_cast<const DeviceBuffer*>(&buffer.root());
    return owned != nullptr && owned->pooled();
}

CUdeviceptr address_of(const Buffer& buffer) noexcept {
    return reinterpret_cast<CUdeviceptr>(buffer.data());
}

}  // namespace

bool ExportedIpcBuffer::can_export(const Buffer& buffer) {
    if (is_pooled(buffer) || dynamic_cast<const ImportedIpcBuffer*>(&buffer.root()) != nullptr) {
        return false;
    }
    const CudaDriver& driver = CudaDriver::instance();
    int capable = 0;
    driver.check(driver.functions().cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                                          address_of(buffer)),
                 "asking whether other processes can open the memory");
    return capable != 0;
}

ExportedIpcBuffer::ExportedIpcBuffer(Ref<Buffer> buffer) : buffer_(std::move(buffer)) {
    if (buffer_->memory_type() != TRITONSERVER_MEMORY_GPU) {
        throw Error(
            TRITONSERVER_ERROR_INVALID_ARG,
            "buffer must be memory of a GPU to be opened by another process, not " + place_text(place_of(*buffer_)));
    }
    if (buffer_->byte_size() == 0) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "buffer must not be empty to be opened by another process");
    }
    if (is_pooled(*buffer_)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "buffer is from the GPU's memory pool, which no other process can open: allocate a shareable one");
    }
    const CudaDevice& device = CudaDevice::get(buffer_->memory_type_id());
    const CudaContext context(device);
    const CUdeviceptr address = address_of(*buffer_);
    CUdeviceptr base = 0;
    std::size_t byte_size = 0;
    device.driver().check(device.functions().cuMemGetAddressRange(&base, &byte_size, address),
                          "cuMemGetAddressRange for a buffer of " + device.name());
    if (buffer_->byte_size() > base + byte_size - address) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "buffer has " + std::to_string(buffer_->byte_size()) +
                                                        " bytes, but the allocation has only " +
                                                        std::to_string(base + byte_size - address) + " from there on");
    }
    device.driver().check(device.functions().cuIpcGetMemHandle(&handle_.handle, base),
                          "cuIpcGetMemHandle for a buffer of " + device.name());
    handle_.offset = address - base;
    handle_.byte_size = buffer_->byte_size();
    handle_.device = device.id();
    lend(*buffer_);
}

}  // namespace triton_inprocess
