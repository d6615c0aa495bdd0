// A block of memory with an owner: what tensors are views of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/types.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

using MemoryType = TRITONSERVER_MemoryType;

class Buffer : public RefCounted {
  public:
    void* data() const noexcept { return data_; }
    std::size_t byte_size() const noexcept { return byte_size_; }
    MemoryType memory_type() const noexcept { return memory_type_; }
    std::int64_t memory_type_id() const noexcept { return memory_type_id_; }
    bool read_only() const noexcept { return read_only_; }

    /// The buffer that owns the memory: this one, unless it is a part of another.
    virtual const Buffer& root() const noexcept { return *this; }

  protected:
    Buffer(void* data, std::size_t byte_size, MemoryType memory_type, std::int64_t memory_type_id, bool read_only)
        : data_(data),
          byte_size_(byte_size),
          memory_type_(memory_type),
          memory_type_id_(memory_type_id),
          read_only_(read_only) {}

    void* data_;
    std::size_t byte_size_;

  private:
    MemoryType memory_type_;
    std::int64_t memory_type_id_;
    bool read_only_;
};

}  // namespace triton_inprocess
