// Where Python wants the outputs of a request.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/model_handle.h"
#include "core/request_outputs.h"

namespace triton_inprocess {

/// What the fields of a request say of its outputs; each may be None or not valid.
struct OutputFields {
    nanobind::handle outputs;    ///< A dict of output name to writable memory.
    nanobind::handle place;      ///< Where the others go.
    nanobind::handle allocator;  ///< What gives their memory: a MemoryAllocator or a NativeMemoryAllocator.
};

/// Null when the fields leave things as they are. Throws TypeError and ValueError for what is no memory to write to and
/// no allocator, INVALID_ARG and UNSUPPORTED for what the model does not give or no machine has.
Ref<RequestOutputs> checked_outputs(const OutputFields& fields, ModelHandle& model);

}  // namespace triton_inprocess
