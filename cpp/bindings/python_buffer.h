// Memory that a Python object owns.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/gil.h"
#include "tensor/buffer.h"

namespace triton_inprocess {

/// Keeps the owner alive; the last user may be one of Triton's threads.
class PythonBuffer final : public Buffer {
  public:
    PythonBuffer(void* data, std::size_t byte_size, MemoryType memory_type, std::int64_t memory_type_id, bool read_only,
                 nanobind::object owner)
        : Buffer(data, byte_size, memory_type, memory_type_id, read_only), owner_(owner.release().ptr()) {}
    ~PythonBuffer() override { let_go(owner_); }

    nanobind::handle owner() const noexcept { return owner_; }

  private:
    PyObject* owner_;
};

}  // namespace triton_inprocess
