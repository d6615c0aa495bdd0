// BYTES tensors and the Python objects of their elements.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// A BYTES tensor of a list of bytes and str, which are encoded as UTF-8. Throws TypeError for another element.
Tensor tensor_of_elements(const nanobind::list& elements, std::vector<std::int64_t> shape);

/// An object array of the elements as bytes.
nanobind::object bytes_array(const Tensor& tensor);

/// An object array of the elements as str; `encoding` and `errors` as bytes.decode has them.
nanobind::object string_array(const Tensor& tensor, const std::string& encoding, const std::string& errors);

}  // namespace triton_inprocess
