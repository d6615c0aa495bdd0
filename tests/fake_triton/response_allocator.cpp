#include "response_allocator.h"

#include "breach.h"
#include "error.h"
#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorNew(TRITONSERVER_ResponseAllocator** allocator,
                                                      TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn,
                                                      TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn,
                                                      TRITONSERVER_ResponseAllocatorStartFn_t start_fn) {
    if (alloc_fn == nullptr || release_fn == nullptr) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "a response allocator needs an alloc and a release function");
    }
    auto* const made = new TRITONSERVER_ResponseAllocator;
    made->alloc = alloc_fn;
    made->release = release_fn;
    made->start = start_fn;
    *allocator = made;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(
    TRITONSERVER_ResponseAllocator* allocator,
    TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn) {
    live(allocator).buffer_attributes = buffer_attributes_fn;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetQueryFunction(TRITONSERVER_ResponseAllocator* allocator,
                                                                   TRITONSERVER_ResponseAllocatorQueryFn_t query_fn) {
    live(allocator).query = query_fn;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorDelete(TRITONSERVER_ResponseAllocator* allocator) {
    const std::int64_t uses = live(allocator).uses.load();
    if (uses != 0) {
        breach(describe(allocator, "ResponseAllocator") + " is still used by " + std::to_string(uses) +
               " requests and responses");
    }
    delete allocator;
    return nullptr;
}

}  // namespace fake_triton::implementation
