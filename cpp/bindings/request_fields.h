// The fields of a request as Python gives them: names, types, and where each goes.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "core/inference_request.h"

namespace triton_inprocess {

/// Sets one field of a request, but for its inputs. Throws TypeError or ValueError naming the field, what was given and
/// what was expected.
void set_field(InferenceRequest& request, const std::string& field, nanobind::handle value);

}  // namespace triton_inprocess
