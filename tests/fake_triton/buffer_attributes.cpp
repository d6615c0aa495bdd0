#include "buffer_attributes.h"

#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_BufferAttributesNew(TRITONSERVER_BufferAttributes** buffer_attributes) {
    *buffer_attributes = new TRITONSERVER_BufferAttributes;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesDelete(TRITONSERVER_BufferAttributes* buffer_attributes) {
    delete &live(buffer_attributes);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryTypeId(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                                 int64_t memory_type_id) {
    live(buffer_attributes).memory_type_id = memory_type_id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetMemoryType(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                               TRITONSERVER_MemoryType memory_type) {
    live(buffer_attributes).memory_type = memory_type;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetCudaIpcHandle(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                                  void* cuda_ipc_handle) {
    live(buffer_attributes).cuda_ipc_handle = cuda_ipc_handle;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesSetByteSize(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                             size_t byte_size) {
    live(buffer_attributes).byte_size = byte_size;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryTypeId(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                              int64_t* memory_type_id) {
    *memory_type_id = live(buffer_attributes).memory_type_id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesMemoryType(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                            TRITONSERVER_MemoryType* memory_type) {
    *memory_type = live(buffer_attributes).memory_type;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesCudaIpcHandle(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                               void** cuda_ipc_handle) {
    *cuda_ipc_handle = live(buffer_attributes).cuda_ipc_handle;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_BufferAttributesByteSize(TRITONSERVER_BufferAttributes* buffer_attributes,
                                                          size_t* byte_size) {
    *byte_size = live(buffer_attributes).byte_size;
    return nullptr;
}

}  // namespace fake_triton::implementation
