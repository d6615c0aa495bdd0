// numpy's C interface, by the numbers and layouts that it fixes for whatever is compiled against numpy 1 or 2. It
// costs a tenth of what the protocols cost that go through Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/data_type.h"

namespace triton_inprocess {

/// The elements of an array, one after the other.
struct PlainArray {
    void* data;
    std::vector<std::int64_t> shape;
    DataType data_type;
};

/// Nothing for what is not exactly a numpy.ndarray, in C order, in native byte order and of a native type that Triton
/// has. Runs no Python code.
std::optional<PlainArray> plain_array(nanobind::handle array);

/// Whether the memory of an object that is exactly a numpy.ndarray can be written through it.
bool is_writable_array(nanobind::handle array);

/// Whether the elements of an object that is exactly a numpy.ndarray, to which the caller has the only reference,
/// cannot be reached but through it: it owns them, or lies over most of an array that does and that it alone refers to.
bool is_sole_array(nanobind::handle array);

/// An array over memory that `owner` keeps alive. The type is one that numpy itself has.
nanobind::object array_over(void* data, const std::vector<std::int64_t>& shape, DataType data_type, bool read_only,
                            nanobind::object owner);

}  // namespace triton_inprocess
