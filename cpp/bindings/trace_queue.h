// The traces of a server's requests, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

void register_trace_queue(nanobind::module_& module);

}  // namespace triton_inprocess
