// Requests in the hands of a model's runner, in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "backend/request_batch.h"

namespace triton_inprocess {

nanobind::object make_execution(std::shared_ptr<RequestBatch> batch);

void register_execution(nanobind::module_& module);

}  // namespace triton_inprocess
