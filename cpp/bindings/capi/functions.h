#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_functions(nanobind::module_& module);

}  // namespace triton_inprocess
