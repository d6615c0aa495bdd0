// How numpy's array protocols, and CUDA's after them, call the types of elements: a letter and a number of bytes.
#pragma once

#include <string>

#include "tensor/data_type.h"

namespace triton_inprocess {

/// INVALID for what Triton has not. By letter and size: numpy has several types of the same layout.
DataType data_type_of_array(char kind, std::size_t element_size) noexcept;

/// "<f4"; empty for BF16 and BYTES, which have no name.
std::string array_type_name(DataType data_type);

}  // namespace triton_inprocess
