// A Python function that serves as a model, as Triton's threads know it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/tensor_spec.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class PythonFunction final : public RefCounted {
  public:
    PythonFunction(std::string model_name, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
                   bool batched)
        : model_name_(std::move(model_name)),
          inputs_(std::move(inputs)),
          outputs_(std::move(outputs)),
          batched_(batched) {}

    const std::string& model_name() const noexcept { return model_name_; }
    const std::vector<TensorSpec>& inputs() const noexcept { return inputs_; }
    const std::vector<TensorSpec>& outputs() const noexcept { return outputs_; }

    /// Whether the first dimension of every tensor is the batch.
    bool batched() const noexcept { return batched_; }

    /// The function itself, or nothing once its model was removed. Needs the GIL.
    nanobind::object function() const { return nanobind::borrow(function_); }

    /// The function is borrowed: a Python object that the garbage collector can see owns it, and calls this with null
    /// before it goes. Needs the GIL.
    void set_function(PyObject* function) noexcept { function_ = function; }

  private:
    std::string model_name_;
    std::vector<TensorSpec> inputs_;
    std::vector<TensorSpec> outputs_;
    bool batched_;
    PyObject* function_ = nullptr;
};

}  // namespace triton_inprocess
