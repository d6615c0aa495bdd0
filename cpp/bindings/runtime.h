#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_runtime(nanobind::module_& module);

}  // namespace triton_inprocess
