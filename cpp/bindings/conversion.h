// The one door through which everything becomes a tensor.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// A tensor for whatever the user gave: see Tensor.from_any. What is no numpy array and no Tensor is for
/// triton_inprocess._convert.from_any.
Tensor from_any(nanobind::handle value, std::optional<DataType> data_type = std::nullopt,
                std::optional<bool> copy = std::nullopt);

}  // namespace triton_inprocess
