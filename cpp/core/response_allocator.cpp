#include "core/response_allocator.h"

#include <exception>

#include "core/output_offer.h"
#include "runtime/error.h"
#include "runtime/function_table.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator* /*allocator*/, const char* tensor_name,
                             std::size_t byte_size, TRITONSERVER_MemoryType /*memory_type*/,
                             std::int64_t /*memory_type_id*/, void* /*user*/, void** buffer, void** buffer_user,
                             TRITONSERVER_MemoryType* actual_memory_type, std::int64_t* actual_memory_type_id) {
    try {
        Ref<Buffer> block = OutputOffer::take(byte_size);
        if (!block) {
            block = HostBufferPool::instance().allocate(byte_size);
        }
        *buffer = block->data();
        *actual_memory_type = block->memory_type();
        *actual_memory_type_id = block->memory_type_id();
        *buffer_user = block.detach();
        return nullptr;
    } catch (const std::exception&) {
        return Error(TRITONSERVER_ERROR_UNAVAILABLE,
                     "out of memory for " + std::to_string(byte_size) + " bytes of output '" + tensor_name + "'")
            .to_c();
    }
}

TRITONSERVER_Error* release(TRITONSERVER_ResponseAllocator* /*allocator*/, void* /*buffer*/, void* buffer_user,
                            std::size_t /*byte_size*/, TRITONSERVER_MemoryType /*memory_type*/,
                            std::int64_t /*memory_type_id*/) {
    Ref<Buffer>::adopt(static_cast<Buffer*>(buffer_user));
    return nullptr;
}

TRITONSERVER_ResponseAllocator* create() {
    TRITONSERVER_ResponseAllocator* allocator = nullptr;
    check(api().TRITONSERVER_ResponseAllocatorNew(&allocator, allocate, release, nullptr));
    return allocator;
}

}  // namespace

TRITONSERVER_ResponseAllocator* ResponseAllocator::get() {
    static TRITONSERVER_ResponseAllocator* const allocator = create();
    return allocator;
}

}  // namespace triton_inprocess
