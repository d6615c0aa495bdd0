#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_server(nanobind::module_& module);

}  // namespace triton_inprocess
