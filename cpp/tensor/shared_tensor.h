// A tensor that one process tells another of: values only, no memory.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tensor/ipc_memory_region.h"
#include "tensor/shared_memory_region.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

class SharedTensor {
  public:
    /// Where it lies: in the host's memory, or in a GPU's.
    using Location = std::variant<SharedMemoryRegion, IpcMemoryRegion>;

    /// Throws INVALID_ARG when the shape needs another number of bytes.
    SharedTensor(Location location, DataType data_type, std::vector<std::int64_t> shape);

    /// Copies a tensor in host memory into the pool, unless it lies there already. The result holds the memory. Throws
    /// INVALID_ARG for a tensor in GPU memory, UNAVAILABLE when the pool has no room.
    static SharedTensor share(const Tensor& tensor, SharedMemoryPool& pool);

    /// The same for a tensor in GPU memory, which needs no pool; see IpcMemoryRegion::share.
    static SharedTensor share(const Tensor& tensor);

    /// A tensor over the memory itself.
    Tensor open(bool writable) const;

    const Location& location() const noexcept { return location_; }
    DataType data_type() const noexcept { return data_type_; }
    const std::vector<std::int64_t>& shape() const noexcept { return shape_; }

    /// Of the first byte, from the start of the shared memory or of the GPU's allocation.
    std::uint64_t offset() const noexcept;
    std::uint64_t byte_size() const noexcept;

  private:
    Location location_;
    DataType data_type_;
    std::vector<std::int64_t> shape_;
};

/// An uninitialised tensor in the pool. Throws INVALID_ARG for BYTES, whose size no shape tells.
Tensor empty_tensor(SharedMemoryPool& pool, DataType data_type, std::vector<std::int64_t> shape);

}  // namespace triton_inprocess
