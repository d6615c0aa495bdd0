// NumPy arrays in and out.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// The numpy module, imported once.
nanobind::module_ numpy();

/// A tensor over the memory of a numpy array, without a copy: for arrays of exactly the type numpy.ndarray,
/// C-contiguous, of a native type that Triton has. Nothing for any other object.
std::optional<Tensor> tensor_over_array(nanobind::handle array);

/// A tensor for whatever the user gave: a Tensor, an array, a list, …; see triton_inprocess._convert.to_tensor.
Tensor to_tensor(nanobind::handle value);

/// An array over the tensor's memory (which stays alive with it), read-only if asked or if the memory is. BYTES come
/// as an object array of bytes, which is a copy. BF16 comes as ml_dtypes.bfloat16 and throws UNSUPPORTED without
/// ml_dtypes.
nanobind::object to_array(const Tensor& tensor, bool read_only = false);

/// The numpy dtype of a type; BYTES is object.
nanobind::object to_dtype(DataType data_type);

}  // namespace triton_inprocess
