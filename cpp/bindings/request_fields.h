// The fields of a request as Python gives them: names, types, and where each goes.
#pragma once

#include <nanobind/nanobind.h>

#include "core/inference_request.h"

namespace triton_inprocess {

/// Sets one field of a request. Throws TypeError or ValueError naming the field, what was given and what was
/// expected.
void set_field(InferenceRequest& request, nanobind::handle name, nanobind::handle value);

}  // namespace triton_inprocess
