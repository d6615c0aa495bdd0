#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_parameter(nanobind::module_& module);

}  // namespace triton_inprocess
