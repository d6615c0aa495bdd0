// What a model takes, as far as its configuration says: what a request is checked against before it is made.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensor/ref_counted.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

class ModelSignature final : public RefCounted {
  public:
    struct Input {
        std::string name;
        DataType data_type = TRITONSERVER_TYPE_INVALID;
        std::vector<std::int64_t> shape;  ///< With the batch's dimension; -1 for any size.
        bool optional = false;
        bool any_shape = false;  ///< The backend reads the shape in a way of its own.
    };
    using Tensors = std::vector<std::pair<std::string, Tensor>>;

    /// `max_batch_size` 0: the model does not batch.
    ModelSignature(std::string model, std::int64_t max_batch_size, std::vector<Input> inputs);

    /// Null for an input that the model has not.
    const Input* find(const std::string& name) const noexcept;

    /// Throws INVALID_ARG for an input that is unknown, missing, or of another type or shape.
    void check(const Tensors& tensors) const;

  private:
    void check_type(const Input& input, const Tensor& tensor) const;
    void check_shape(const Input& input, const Tensor& tensor) const;
    std::string text_of(const Input& input) const;
    std::string name_of(const Input& input) const;

    std::string model_;
    std::int64_t max_batch_size_;
    std::vector<Input> inputs_;
};

}  // namespace triton_inprocess
