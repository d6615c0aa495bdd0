// The user's functions that give memory for outputs.
#pragma once

#include <atomic>
#include <cstdint>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_ResponseAllocator : fake_triton::Live<TRITONSERVER_ResponseAllocator> {
    static constexpr const char* type_name = "ResponseAllocator";

    TRITONSERVER_ResponseAllocatorAllocFn_t alloc = nullptr;
    TRITONSERVER_ResponseAllocatorReleaseFn_t release = nullptr;
    TRITONSERVER_ResponseAllocatorStartFn_t start = nullptr;
    TRITONSERVER_ResponseAllocatorQueryFn_t query = nullptr;
    TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes = nullptr;

    /// Live responses, and requests in flight whose final response has not come: they will call one of these functions.
    std::atomic<std::int64_t> uses{0};
};
