// Triton's functions for the forwarder library: those of the runtime, but where a front end's handle is given in place
// of a C server, it is asked first, and the call goes on with the C server behind it.
#pragma once

#include "runtime/function_table.h"

namespace triton_inprocess {

/// The functions that the process uses, and in front of some of them the front ends' access.
FunctionTable front_end_functions() noexcept;

}  // namespace triton_inprocess
