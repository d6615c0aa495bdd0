#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_front_end(nanobind::module_& module);

}  // namespace triton_inprocess
