// What a function has returned for an output, as a tensor. Everything here needs the GIL.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "backend/function_output.h"
#include "backend/python_function.h"

namespace triton_inprocess {

/// What is wrong with a result: "the function of model '…' <reason>", INTERNAL.
[[noreturn]] void refuse_result(const PythonFunction& function, const std::string& reason);

/// The value for an output; `sole` tells whether the caller has the only reference to it. An array that nobody else can
/// reach, by another array or as an input, is offered to the response, if the function's author wants that,
/// of any size: even 64 bytes are handed over faster than they are copied.
FunctionOutput to_output(PyObject* value, bool sole, const TensorSpec& spec, const PythonFunction& function,
                         std::int64_t rows, const std::vector<Tensor>& inputs);

}  // namespace triton_inprocess
