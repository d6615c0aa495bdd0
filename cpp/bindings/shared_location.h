// Where a SharedTensor lies, as the plain values that pickle takes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "tensor/shared_tensor.h"

namespace triton_inprocess {

nanobind::tuple location_values(const SharedTensor::Location& location);

/// Throws what says which value is none; the values may be anybody's.
SharedTensor::Location location_of_values(nanobind::handle values);

/// The name of the shared memory; throws UNSUPPORTED for a tensor in GPU memory.
std::string key_of(const SharedTensor& shared);

/// The handle of the allocation; throws UNSUPPORTED for a tensor in host memory.
nanobind::bytes ipc_handle_of(const SharedTensor& shared);

MemoryType memory_type_of(const SharedTensor& shared) noexcept;
std::int64_t memory_type_id_of(const SharedTensor& shared) noexcept;

}  // namespace triton_inprocess
