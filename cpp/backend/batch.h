// One execution: several requests go through the Python function at once.
#pragma once

#include <cstdint>

#include "abi/types.h"
#include "backend/python_function.h"

namespace triton_inprocess {

/// Marks the thread while the function runs on it. Within a function that another one's code has led to, too.
class Executing {
  public:
    explicit Executing(PythonFunction& function) noexcept;
    ~Executing();
    Executing(const Executing&) = delete;
    Executing& operator=(const Executing&) = delete;

  private:
    PythonFunction* outer_;
};

/// Marks the calling thread as one that executes the model for as long as it lives.
void mark_executing(PythonFunction& function) noexcept;

/// The model whose function runs on the calling thread, or null.
PythonFunction* executing_function() noexcept;

/// Answers and releases every request, whatever happens.
void execute_batch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests,
                   std::uint32_t count) noexcept;

}  // namespace triton_inprocess
