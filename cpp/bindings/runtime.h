#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

/// Loads the runtime that is found, if none is loaded: what needs the C API calls this first.
void ensure_runtime();

void register_runtime(nanobind::module_& module);

}  // namespace triton_inprocess
