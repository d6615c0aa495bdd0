// NumPy arrays in and out.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "bindings/array_view.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// The numpy module.
nanobind::module_ numpy();

/// A tensor over the memory of a numpy array, without a copy: for arrays of exactly the type numpy.ndarray,
/// C-contiguous, of a native type that Triton has. Nothing for any other object. Runs no Python code of a user's.
std::optional<Tensor> tensor_over_array(nanobind::handle array, bool read_only = true);

/// The same for an array of any layout and of a type that Triton has, or under another data type with elements of that
/// size if one is given (the bits of BF16). `copy`: true copies; nothing copies only what cannot be read as it lies,
/// for which false throws ValueError.
Tensor tensor_of_array(nanobind::handle array, const ArrayView& view, std::optional<DataType> data_type,
                       std::optional<bool> copy);

/// An array over the tensor's memory (which stays alive with it), read-only if asked or if the memory is. BYTES come
/// as an object array of bytes, which is a copy. BF16 comes as ml_dtypes.bfloat16 and throws UNSUPPORTED without
/// ml_dtypes.
nanobind::object to_array(const Tensor& tensor, bool read_only = false);

}  // namespace triton_inprocess
