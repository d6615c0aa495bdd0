// Where tensors lie, as Python says it, and their way from one place to another.
#pragma once

#include <nanobind/nanobind.h>

#include "tensor/transfer.h"

namespace triton_inprocess {

/// A kind of memory and its device: "cpu", "cpu_pinned", "gpu" or "gpu:1", a MemoryType, a pair of one and a number, or
/// a pair of a DLDeviceType and a number. Throws TypeError or ValueError for anything else.
MemoryPlace place_argument(nanobind::handle device);

/// Tensor.to_device and Tensor.to_host: `self` where it is there already.
nanobind::object to_device(nanobind::handle self, nanobind::handle device);
nanobind::object to_host(nanobind::handle self);

/// Throws UNSUPPORTED, with the remedy, for GPU memory, which no array of numpy's can be over.
void require_host_memory(const Buffer& buffer);

void register_device(nanobind::module_& module);

}  // namespace triton_inprocess
