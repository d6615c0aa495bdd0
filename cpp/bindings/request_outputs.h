// Where Python wants the outputs of a request.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/model_handle.h"
#include "core/request_outputs.h"

namespace triton_inprocess {

/// `outputs`: a dict of output name to writable memory, or None; `place`: where the others go, or None. Null when both
/// leave things as they are. Throws TypeError and ValueError for what is no memory to write to, INVALID_ARG and
/// UNSUPPORTED for what the model does not give or no machine has.
Ref<RequestOutputs> checked_outputs(nanobind::handle outputs, nanobind::handle place, ModelHandle& model);

}  // namespace triton_inprocess
