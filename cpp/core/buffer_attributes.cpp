#include "core/buffer_attributes.h"

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

template <typename Value>
Value read(TRITONSERVER_Error* (*getter)(TRITONSERVER_BufferAttributes*, Value*),
           TRITONSERVER_BufferAttributes* attributes) {
    Value value{};
    check(getter(attributes, &value));
    return value;
}

void copy(TRITONSERVER_BufferAttributes* source, TRITONSERVER_BufferAttributes* target) {
    check(api().TRITONSERVER_BufferAttributesSetMemoryType(
        target, read(api().TRITONSERVER_BufferAttributesMemoryType, source)));
    check(api().TRITONSERVER_BufferAttributesSetMemoryTypeId(
        target, read(api().TRITONSERVER_BufferAttributesMemoryTypeId, source)));
    check(api().TRITONSERVER_BufferAttributesSetByteSize(target,
                                                         read(api().TRITONSERVER_BufferAttributesByteSize, source)));
    // The setter reads the handle, so there must be one.
    if (void* const handle = read(api().TRITONSERVER_BufferAttributesCudaIpcHandle, source)) {
        check(api().TRITONSERVER_BufferAttributesSetCudaIpcHandle(target, handle));
    }
}

}  // namespace

void BufferAttributes::Delete::operator()(TRITONSERVER_BufferAttributes* attributes) const noexcept {
    ignore(api().TRITONSERVER_BufferAttributesDelete(attributes));
}

BufferAttributes::BufferAttributes() {
    TRITONSERVER_BufferAttributes* attributes = nullptr;
    check(api().TRITONSERVER_BufferAttributesNew(&attributes));
    attributes_.reset(attributes);
    // Which the library leaves to chance.
    set_memory_type(TRITONSERVER_MEMORY_CPU);
    set_memory_type_id(0);
    set_byte_size(0);
}

BufferAttributes::BufferAttributes(TRITONSERVER_BufferAttributes* others) : BufferAttributes() {
    copy(others, get());
}

TRITONSERVER_MemoryType BufferAttributes::memory_type() const {
    return read(api().TRITONSERVER_BufferAttributesMemoryType, get());
}

void BufferAttributes::set_memory_type(TRITONSERVER_MemoryType memory_type) {
    check(api().TRITONSERVER_BufferAttributesSetMemoryType(get(), memory_type));
}

std::int64_t BufferAttributes::memory_type_id() const {
    return read(api().TRITONSERVER_BufferAttributesMemoryTypeId, get());
}

void BufferAttributes::set_memory_type_id(std::int64_t id) {
    check(api().TRITONSERVER_BufferAttributesSetMemoryTypeId(get(), id));
}

std::size_t BufferAttributes::byte_size() const {
    return read(api().TRITONSERVER_BufferAttributesByteSize, get());
}

void BufferAttributes::set_byte_size(std::size_t byte_size) {
    check(api().TRITONSERVER_BufferAttributesSetByteSize(get(), byte_size));
}

void* BufferAttributes::cuda_ipc_handle() const {
    return read(api().TRITONSERVER_BufferAttributesCudaIpcHandle, get());
}

void BufferAttributes::set_cuda_ipc_handle(void* handle) {
    if (handle == nullptr) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "cuda_ipc_handle must be the address of 64 bytes, not 0");
    }
    check(api().TRITONSERVER_BufferAttributesSetCudaIpcHandle(get(), handle));
}

void BufferAttributes::copy_to(TRITONSERVER_BufferAttributes* target) const {
    copy(get(), target);
}

}  // namespace triton_inprocess
