// A shared memory pool as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "tensor/shared_memory_pool.h"

namespace triton_inprocess {

struct BoundSharedMemoryPool {
    std::shared_ptr<SharedMemoryPool> pool;  ///< Null once it is closed.
    std::string name;
    std::size_t byte_size;

    /// Throws UNAVAILABLE once it is closed.
    std::shared_ptr<SharedMemoryPool> opened() const;
};

void register_shared_memory_pool(nanobind::module_& module);

}  // namespace triton_inprocess
