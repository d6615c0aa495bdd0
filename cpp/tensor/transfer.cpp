#include "tensor/transfer.h"

#include <cstring>
#include <string>

#include "runtime/error.h"
#include "tensor/cuda_stream.h"
#include "tensor/device_buffer.h"
#include "tensor/host_buffer_pool.h"
#include "tensor/pinned_buffer.h"

namespace triton_inprocess {
namespace {

Ref<Buffer> allocate_on_host(const MemoryPlace& place, std::size_t byte_size) {
    if (place.memory_type == TRITONSERVER_MEMORY_CPU_PINNED) {
        return make_ref<PinnedBuffer>(byte_size);
    }
    return HostBufferPool::instance().allocate(byte_size);
}

Ref<Buffer> copy_to_gpu(const Buffer& source, std::int64_t id, DeviceBuffer::Use use) {
    Ref<Buffer> target;  // outlives the stream, which waits for the copy if something fails
    CudaStream stream(CudaDevice::get(id));
    target = make_ref<DeviceBuffer>(stream, source.byte_size(), use);
    if (source.byte_size() != 0) {
        const bool from_other = source.memory_type() == TRITONSERVER_MEMORY_GPU && source.memory_type_id() != id;
        if (from_other) {
            stream.copy_from(CudaDevice::get(source.memory_type_id()), target->data(), source.data(),
                             source.byte_size());
        } else {
            stream.copy(target->data(), source.data(), source.byte_size());
        }
    }
    stream.synchronize();
    return target;
}

}  // namespace

MemoryPlace place_of(const Buffer& buffer) noexcept {
    return {buffer.memory_type(), buffer.memory_type_id()};
}

MemoryPlace copy_place(const Buffer& buffer) noexcept {
    return buffer.memory_type() == TRITONSERVER_MEMORY_GPU ? place_of(buffer) : MemoryPlace{};
}

bool is_at(const Buffer& buffer, const MemoryPlace& place) noexcept {
    return buffer.memory_type() == place.memory_type &&
           (place.memory_type != TRITONSERVER_MEMORY_GPU || buffer.memory_type_id() == place.memory_type_id);
}

std::string place_text(const MemoryPlace& place) {
    switch (place.memory_type) {
        case TRITONSERVER_MEMORY_CPU:
            return "host memory";
        case TRITONSERVER_MEMORY_CPU_PINNED:
            return "pinned host memory";
        case TRITONSERVER_MEMORY_GPU:
            return "GPU " + std::to_string(place.memory_type_id);
    }
    throw Error(TRITONSERVER_ERROR_INVALID_ARG, "memory of an unknown kind");
}

Ref<Buffer> allocate_at(const MemoryPlace& place, std::size_t byte_size) {
    if (place.memory_type == TRITONSERVER_MEMORY_GPU) {
        return DeviceBuffer::allocate(place.memory_type_id, byte_size);
    }
    return allocate_on_host(place, byte_size);
}

void copy_from_host(const void* source, void* target, const MemoryPlace& place, std::size_t byte_size) {
    if (byte_size == 0) {
        return;
    }
    if (place.memory_type != TRITONSERVER_MEMORY_GPU) {
        std::memcpy(target, source, byte_size);
        return;
    }
    CudaStream stream(CudaDevice::get(place.memory_type_id));
    stream.copy(target, source, byte_size);
    stream.synchronize();
}

Ref<Buffer> transfer(const Ref<Buffer>& source, const MemoryPlace& place) {
    return is_at(*source, place) ? source : copy_to(*source, place);
}

Ref<Buffer> copy_to_shareable(const Buffer& source) {
    return copy_to_gpu(source, source.memory_type_id(), DeviceBuffer::Use::shareable);
}

Ref<Buffer> copy_to(const Buffer& source, const MemoryPlace& place) {
    if (place.memory_type == TRITONSERVER_MEMORY_GPU) {
        return copy_to_gpu(source, place.memory_type_id, DeviceBuffer::Use::local);
    }
    Ref<Buffer> target = allocate_on_host(place, source.byte_size());
    if (source.byte_size() == 0) {
        return target;
    }
    if (source.memory_type() == TRITONSERVER_MEMORY_GPU) {
        CudaStream stream(CudaDevice::get(source.memory_type_id()));
        stream.copy(target->data(), source.data(), source.byte_size());
        stream.synchronize();
    } else {
        std::memcpy(target->data(), source.data(), source.byte_size());
    }
    return target;
}

}  // namespace triton_inprocess
