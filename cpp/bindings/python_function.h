// The Python object that owns a function that serves as a model.
#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_python_function(nanobind::module_& module);

}  // namespace triton_inprocess
