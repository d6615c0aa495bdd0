// Calls of a model's runner, the Python object that calls functions which are not called directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/types.h"
#include "backend/python_function.h"
#include "backend/request_batch.h"

namespace triton_inprocess {

/// Hands the requests to the runner, which answers them, now or later. What it does not take care of fails.
void execute_by_runner(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                       std::vector<std::unique_ptr<RequestBatch>> batches) noexcept;

/// Tells the runner of a repository's model that it begins, with its configuration as JSON; throws what that raises.
void begin_model(PythonFunction& function, const std::string& config);

/// Tells the runner of a repository's model that it is gone, or could not be loaded.
void end_model(PythonFunction& function) noexcept;

/// Tells the runner of an instance of the model that begins; throws what its `initialize` has raised.
void begin_instance(PythonFunction& function, TRITONBACKEND_ModelInstance* instance);

/// Asks the runner of a repository's model whether an instance of it is ready; throws what says that it is not.
void require_ready(PythonFunction& function, TRITONBACKEND_ModelInstance* instance);

/// Tells the runner of an instance that ends; what its `finalize` raises goes to Triton's log.
void end_instance(PythonFunction& function, TRITONBACKEND_ModelInstance* instance) noexcept;

}  // namespace triton_inprocess
