// Shapes for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

namespace triton_inprocess {

/// A tuple of ints.
nanobind::tuple shape_tuple(const std::vector<std::int64_t>& shape);

}  // namespace triton_inprocess
