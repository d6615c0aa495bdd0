// An output's memory that a user's allocator has given.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/buffer.h"

namespace triton_inprocess {

/// Calls the allocator's release function when neither Triton nor a response uses the memory any more.
class UserBuffer final : public Buffer {
  public:
    /// `allocator`: the TRITONSERVER_ResponseAllocator, whose function `release` is.
    UserBuffer(void* data, std::size_t byte_size, MemoryType memory_type, std::int64_t memory_type_id,
               nanobind::object allocator, nanobind::object release, nanobind::object user_object);
    ~UserBuffer() override;

    nanobind::handle user_object() const noexcept { return user_object_; }

    std::array<PyObject*, 3> held() const noexcept { return {allocator_, release_, user_object_}; }

  private:
    PyObject* allocator_;
    PyObject* release_;
    PyObject* user_object_;
};

}  // namespace triton_inprocess
