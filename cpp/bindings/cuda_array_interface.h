// The CUDA array interface, version 3: GPU memory from and for libraries that do not speak DLPack.
#pragma once

#include <nanobind/nanobind.h>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// The dictionary for a tensor in GPU memory; AttributeError for any other, and for a type that it has no name for.
nanobind::dict cuda_array_interface(const Tensor& tensor);

void register_cuda_array_interface(nanobind::module_& module);

}  // namespace triton_inprocess
