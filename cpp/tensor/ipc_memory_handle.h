// What another process needs to open a GPU's memory: plain data, to be sent as it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/cuda.h"

namespace triton_inprocess {

struct IpcMemoryHandle {
    CUipcMemHandle handle = {};   ///< Of the whole allocation.
    std::uint64_t offset = 0;     ///< Where in it the memory begins.
    std::uint64_t byte_size = 0;  ///< Of the memory.
    std::int64_t device = 0;      ///< The number of the GPU, which must be the same one in both processes.
};

}  // namespace triton_inprocess
