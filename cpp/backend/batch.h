// One execution: several requests go through the Python function at once.
#pragma once

#include <cstdint>

#include "abi/types.h"
#include "backend/python_function.h"

namespace triton_inprocess {

/// The model whose function runs on the calling thread, or null.
const PythonFunction* executing_function() noexcept;

/// Answers and releases every request, whatever happens.
void execute_batch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests,
                   std::uint32_t count) noexcept;

}  // namespace triton_inprocess
