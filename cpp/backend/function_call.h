// Calling the Python function: tensors in, tensors out. Everything here needs the GIL.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/python_function.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// Calls the function with the inputs as read-only arrays, by name, and returns its outputs in the order of their
/// declaration. `rows` is the size of the batch. An exception of the function comes out as the Error it means.
std::vector<Tensor> call_function(const PythonFunction& function, const std::vector<Tensor>& inputs, std::int64_t rows);

}  // namespace triton_inprocess
