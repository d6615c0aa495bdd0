// The inputs of a request: what Python gives becomes tensors, and is what the model takes.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/model_handle.h"
#include "core/model_signature.h"

namespace triton_inprocess {

/// The tensors for `inputs`, a dict or null. Throws TypeError and ValueError for what is no tensor, and INVALID_ARG for
/// what the model does not take, each with the input's name.
ModelSignature::Tensors checked_inputs(nanobind::handle inputs, ModelHandle& model);

}  // namespace triton_inprocess
