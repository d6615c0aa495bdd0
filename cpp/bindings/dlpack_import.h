// Tensors from what speaks DLPack.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// A tensor over the memory of an object with `__dlpack__`, or of a capsule, which is consumed. What does not lie
/// in C order is copied, or throws ValueError if `copy` is false; if it is true everything is copied. The producer's
/// deleter is called once, with the GIL, when nobody uses the memory any more.
Tensor import_dlpack(nanobind::handle value, std::optional<bool> copy);

}  // namespace triton_inprocess
