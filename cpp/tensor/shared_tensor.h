// A tensor in shared memory as one process tells another of it: values only, no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/shared_memory_pool.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

class SharedTensor {
  public:
    /// Which block of which pool; all 0 for memory that is no pool's.
    struct Block {
        std::uint64_t segment_id = 0;
        std::uint64_t id = 0;
    };

    /// A tensor in the shared memory of that key. With `block`, opening it makes sure that it still is that tensor;
    /// without, whoever made the memory takes care of that. Throws INVALID_ARG when the shape needs another number of
    /// bytes.
    SharedTensor(const std::string& key, std::uint64_t offset, std::uint64_t byte_size, DataType data_type,
                 std::vector<std::int64_t> shape, Block block);

    /// Copies the tensor into the pool, unless it lies there already. The result holds the memory. Throws UNSUPPORTED
    /// when the tensor is not in host memory, UNAVAILABLE when the pool has no room.
    static SharedTensor share(const Tensor& tensor, SharedMemoryPool& pool);

    /// A tensor over the memory itself.
    Tensor open(bool writable) const;

    std::string key() const { return "/" + name_; }
    std::uint64_t offset() const noexcept { return offset_; }
    std::uint64_t byte_size() const noexcept { return byte_size_; }
    DataType data_type() const noexcept { return data_type_; }
    const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
    const Block& block() const noexcept { return block_; }

  private:
    std::string name_;
    std::uint64_t offset_;
    std::uint64_t byte_size_;
    DataType data_type_;
    std::vector<std::int64_t> shape_;
    Block block_;
    Ref<Buffer> held_;
};

/// An uninitialised tensor in the pool. Throws INVALID_ARG for BYTES, whose size no shape tells.
Tensor empty_tensor(SharedMemoryPool& pool, DataType data_type, std::vector<std::int64_t> shape);

}  // namespace triton_inprocess
