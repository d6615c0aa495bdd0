// The end of the interpreter, in one place.
#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_shutdown(nanobind::module_& module);

}  // namespace triton_inprocess
