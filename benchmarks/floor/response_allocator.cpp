#include "response_allocator.h"

#include <exception>
#include <string>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess::benchmarks {
namespace {

TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator*, const char* tensor_name, size_t byte_size,
                             TRITONSERVER_MemoryType, int64_t, void* userp, void** buffer, void** buffer_userp,
                             TRITONSERVER_MemoryType* actual_memory_type, int64_t* actual_memory_type_id) {
    auto* pool = static_cast<BufferPool*>(userp);
    if (byte_size > pool->byte_size()) {
        const std::string message = "output '" + std::string(tensor_name) + "' has " + std::to_string(byte_size) +
                                    " bytes; the buffers of the benchmark have " + std::to_string(pool->byte_size());
        return api().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, message.c_str());
    }
    try {
        *buffer = pool->take();
    } catch (const std::exception& failure) {
        return api().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, failure.what());
    }
    *buffer_userp = pool;
    *actual_memory_type = TRITONSERVER_MEMORY_CPU;
    *actual_memory_type_id = 0;
    return nullptr;
}

TRITONSERVER_Error* release(TRITONSERVER_ResponseAllocator*, void* buffer, void* buffer_userp, size_t,
                            TRITONSERVER_MemoryType, int64_t) {
    static_cast<BufferPool*>(buffer_userp)->give_back(buffer);
    return nullptr;
}

}  // namespace

void ResponseAllocator::Deleter::operator()(TRITONSERVER_ResponseAllocator* allocator) const noexcept {
    ignore(api().TRITONSERVER_ResponseAllocatorDelete(allocator));
}

ResponseAllocator::ResponseAllocator(BufferPool& pool) : pool_(pool) {
    TRITONSERVER_ResponseAllocator* allocator = nullptr;
    check(api().TRITONSERVER_ResponseAllocatorNew(&allocator, &allocate, &release, nullptr));
    allocator_.reset(allocator);
}

}  // namespace triton_inprocess::benchmarks
