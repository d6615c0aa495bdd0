// A tensor in memory that a user's MemoryAllocator has given.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// As any Tensor, but Python's garbage collector sees what the memory holds: the allocator may hold the tensor. Tensors
/// in general are not to be looked at by it, which costs with each of them.
struct AllocatedTensor : Tensor {
    explicit AllocatedTensor(const Tensor& tensor) : Tensor(tensor) {}

    std::vector<PyObject*> held() const;
    void let_go() noexcept;
};

/// Adds the Python objects that the memory holds, if whoever asks is the only one who has the memory.
void add_held(const Buffer& buffer, std::vector<PyObject*>& objects);

/// A tensor of nothing, for where the one that was there is elsewhere now.
Tensor without_memory();

nanobind::object make_allocated_tensor(const Tensor& tensor);

void register_allocated_tensor(nanobind::module_& module);

}  // namespace triton_inprocess
