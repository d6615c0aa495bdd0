#include "tensor/ipc_memory_region.h"

#include <string>
#include <utility>

#include "runtime/error.h"
#include "tensor/buffer_slice.h"
#include "tensor/cuda_stream.h"
#include "tensor/device_buffer.h"
#include "tensor/imported_ipc_buffer.h"
#include "tensor/transfer.h"

namespace triton_inprocess {
namespace {

/// A part of what this process has exported itself.
Ref<Buffer> open_own(const IpcExport& exported, const IpcMemoryHandle& handle, bool read_only) {
    const Ref<Buffer>& whole = exported.buffer();
    const std::uint64_t start = exported.handle().offset;
    if (handle.offset < start || handle.offset - start > whole->byte_size() ||
        handle.byte_size > whole->byte_size() - (handle.offset - start)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the shared tensor's " + std::to_string(handle.byte_size) + " bytes at offset " +
                        std::to_string(handle.offset) + " are not in what was shared, which is " +
                        std::to_string(whole->byte_size()) + " bytes at offset " + std::to_string(start));
    }
    void* const data = static_cast<char*>(whole->data()) + (handle.offset - start);
    return make_ref<BufferSlice>(data, handle.byte_size, whole, read_only);
}

}  // namespace

IpcMemoryRegion IpcMemoryRegion::share(const Ref<Buffer>& buffer) {
    if (buffer->memory_type() != TRITONSERVER_MEMORY_GPU) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "only GPU memory has IPC handles, not " + place_text(place_of(*buffer)));
    }
    CudaDevice& device = CudaDevice::get(buffer->memory_type_id());
    if (buffer->byte_size() == 0) {
        IpcMemoryHandle nothing;
        nothing.device = device.id();
        return IpcMemoryRegion(nothing, buffer->read_only(), {});
    }
    std::shared_ptr<const IpcExport> held;
    bool read_only = false;
    if (ExportedIpcBuffer::can_export(*buffer)) {
        // No stream of another process waits for those of this one.
        wait_for_default_stream(device);
        held = IpcExport::make(buffer);
        read_only = buffer->read_only();
    } else {
        held = IpcExport::make(copy_to_shareable(*buffer));
    }
    IpcMemoryRegion result(held->handle(), read_only, held->id());
    result.held_ = std::move(held);
    return result;
}

Ref<Buffer> IpcMemoryRegion::open(bool writable) const {
    if (writable && read_only_) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "writable must be False: the shared tensor is over memory of somebody who only lets it be read");
    }
    // First of all: nothing below is for a forked child.
    CudaDevice& device = CudaDevice::get(handle_.device);
    if (handle_.byte_size == 0) {
        return make_ref<BufferSlice>(nullptr, 0, DeviceBuffer::allocate(device.id(), 0), !writable);
    }
    if (IpcExport::is_own(id_)) {
        return open_own(*IpcExport::find(id_), handle_, !writable);
    }
    return make_ref<ImportedIpcBuffer>(handle_, !writable);
}

}  // namespace triton_inprocess
