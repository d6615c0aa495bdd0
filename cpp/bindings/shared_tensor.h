// Handles on shared tensors, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/shared_memory_pool.h"
#include "tensor/shared_tensor.h"

namespace triton_inprocess {

/// Tensor.share; without a pool for a tensor in GPU memory.
SharedTensor share_tensor(const Tensor& tensor, const BoundSharedMemoryPool* pool);

/// The data type that a user's argument means; see triton_inprocess._convert.to_data_type.
DataType shared_data_type(nanobind::handle value);

void register_shared_tensor(nanobind::module_& module);

}  // namespace triton_inprocess
