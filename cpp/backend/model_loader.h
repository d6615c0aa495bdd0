// Models of repositories whose code is Python: Triton has found them, and not `add_model` made them.
#pragma once

#include <string>

#include "abi/types.h"
#include "backend/python_function.h"

namespace triton_inprocess {

/// Has triton_inprocess._python_models make the model of the folder, complete its configuration where Triton wants
/// that, and begin its instances. Throws what the model's code raises, and what Triton says of the configuration.
Ref<PythonFunction> load_python_model(TRITONBACKEND_Model* model, const std::string& directory);

}  // namespace triton_inprocess
