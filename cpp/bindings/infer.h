// The way of a request from Python into Triton.
#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_infer(nanobind::module_& module);

}  // namespace triton_inprocess
