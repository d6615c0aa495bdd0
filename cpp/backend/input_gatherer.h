// The inputs of a batch as tensors: views of the callers' memory where there is one request, gathered otherwise.
#pragma once

#include <cstdint>
#include <vector>

#include "abi/types.h"
#include "backend/python_function.h"
#include "backend/shared_input.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// One input of one request.
struct RequestInput {
    struct Piece {
        const void* data;
        std::size_t byte_size;
    };
    std::vector<std::int64_t> shape;
    std::vector<Piece> pieces;
    std::size_t byte_size = 0;
};

/// Throws UNSUPPORTED for an input in GPU memory, INVALID_ARG for one of another type than declared.
RequestInput read_input(TRITONBACKEND_Request* request, const TensorSpec& spec);

/// The input of all requests as one tensor, joined along the first dimension. A single piece of memory that a request
/// of ours in flight keeps alive is shared, unless the function wants copies, and then knows of `watch`; memory of
/// other origin is copied. Counts the bytes.
Tensor gather_input(PythonFunction& function, const TensorSpec& spec, TRITONBACKEND_Request* const* requests,
                    const std::vector<RequestInput>& inputs, const Ref<InputWatch>& watch);

}  // namespace triton_inprocess
