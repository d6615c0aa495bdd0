// Python's handle on a buffer.
#pragma once

#include <nanobind/nanobind.h>

#include <array>

#include "tensor/buffer.h"

namespace triton_inprocess {

struct MemoryBuffer {
    Ref<Buffer> buffer;

    /// The Python object that owns the memory, if there is one.
    nanobind::handle owner() const noexcept;

    std::array<PyObject*, 1> held() const noexcept;
    void let_go() noexcept;
};

void register_memory_buffer(nanobind::module_& module);

}  // namespace triton_inprocess
