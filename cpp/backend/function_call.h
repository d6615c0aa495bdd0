// Calling the Python function: tensors in, tensors out. Everything here needs the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "backend/function_output.h"
#include "backend/python_function.h"
#include "runtime/error.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// The outputs that a function has returned, in the order of their declaration; `inputs` are what it was called with.
/// What is to be handed over without a copy needs the caller to have the only reference to `result`. Throws INTERNAL
/// for what it did not declare; the message names the model, the output, what was got and what was declared.
std::vector<FunctionOutput> take_outputs(PyObject* result, const PythonFunction& function, std::int64_t rows,
                                         const std::vector<Tensor>& inputs);

/// Writes an error that is the function's fault, with its traceback, to Triton's log.
void log_failure(const PythonFunction& function, const Error& error) noexcept;

/// Calls the function with the inputs as read-only arrays, by name, and returns its outputs in the order of their
/// declaration. `rows` is the size of the batch. An exception of the function comes out as the Error it means.
std::vector<FunctionOutput> call_function(const PythonFunction& function, const std::vector<Tensor>& inputs,
                                          std::int64_t rows);

}  // namespace triton_inprocess
