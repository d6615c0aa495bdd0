// Calls of a model's runner, the Python object that calls functions which are not called directly.
#pragma once

#include <memory>
#include <vector>

#include "abi/types.h"
#include "backend/python_function.h"
#include "backend/request_batch.h"

namespace triton_inprocess {

/// Hands the requests to the runner, which answers them, now or later. What it does not take care of fails.
void execute_by_runner(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                       std::vector<std::unique_ptr<RequestBatch>> batches) noexcept;

/// Tells the runner of an instance of the model that begins; throws what its `initialize` has raised.
void begin_instance(PythonFunction& function, TRITONBACKEND_ModelInstance* instance);

/// Tells the runner of an instance that ends; what its `finalize` raises goes to Triton's log.
void end_instance(PythonFunction& function, TRITONBACKEND_ModelInstance* instance) noexcept;

}  // namespace triton_inprocess
