// What is said of a buffer beside its address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_BufferAttributes : fake_triton::Live<TRITONSERVER_BufferAttributes> {
    static constexpr const char* type_name = "BufferAttributes";

    std::size_t byte_size = 0;
    TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
    std::int64_t memory_type_id = 0;
    void* cuda_ipc_handle = nullptr;
};
