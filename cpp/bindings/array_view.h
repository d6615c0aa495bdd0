// What a numpy array tells of itself through `__array_struct__`, numpy's protocol for C.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tensor/data_type.h"
#include "tensor/layout.h"

namespace triton_inprocess {

struct ArrayView {
    void* data = nullptr;  ///< Address of the element whose indices are all 0.
    Layout layout;
    /// INVALID for what Triton has not, and for the types that numpy itself has not: see triton_inprocess._convert.
    DataType data_type = TRITONSERVER_TYPE_INVALID;
};

/// Nothing for what is not exactly a numpy.ndarray.
std::optional<ArrayView> view_of_array(nanobind::handle array);

}  // namespace triton_inprocess
