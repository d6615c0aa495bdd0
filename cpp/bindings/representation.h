// How objects of an inference are shown: what they are of, and their state.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/inference_response.h"
#include "bindings/pending_request.h"

namespace triton_inprocess {

/// "InferenceResponse(model='m', version=1, outputs=['y'], final=True)", with the error where there is one.
nanobind::str represent(const BoundResponse& response);

/// "<ResponseIterator of model 'm', in flight>".
nanobind::str represent(const char* type, const PendingRequest& request);

}  // namespace triton_inprocess
