// Requests in the hands of Triton Python models.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "backend/model_request.h"

namespace triton_inprocess {

nanobind::object make_model_request(std::unique_ptr<ModelRequest> request);

void register_model_request(nanobind::module_& module);

}  // namespace triton_inprocess
