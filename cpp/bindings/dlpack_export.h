// DLPack capsules of tensors.
#pragma once

#include <nanobind/nanobind.h>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// See the array API standard. BYTES have no DLPack type, and an old consumer (no `max_version`) cannot be told that
/// memory is read-only: both throw BufferError.
nanobind::object export_dlpack(const Tensor& tensor, const nanobind::object& stream,
                               const nanobind::object& max_version, const nanobind::object& dl_device,
                               const nanobind::object& copy);

nanobind::tuple dlpack_device(const Tensor& tensor);

}  // namespace triton_inprocess
