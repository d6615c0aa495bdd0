// Triton's data types: the one place that knows their sizes and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "abi/types.h"

namespace triton_inprocess {

using DataType = TRITONSERVER_DataType;

/// Bytes of one element; 0 for BYTES, whose elements differ in length. Throws INVALID_ARG for what is no type.
std::size_t element_size(DataType data_type);

/// Triton's name: "FP32", "BYTES", … Throws INVALID_ARG for what is no type.
const char* data_type_name(DataType data_type);

/// Number of elements of `shape`; throws INVALID_ARG for a negative dimension or more than 2^63 elements.
std::size_t element_count(const std::int64_t* shape, std::size_t rank);

/// element_count times element_size, checked against overflow. Not for BYTES.
std::size_t byte_size_of(DataType data_type, const std::int64_t* shape, std::size_t rank);

/// "[2, 3]"
std::string shape_text(const std::int64_t* shape, std::size_t rank);

}  // namespace triton_inprocess
