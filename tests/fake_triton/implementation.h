// The functions of the C API as the fake implements them. What is exported under the same names counts the call and
// fails it if so commanded, and then comes here (exports.cpp).
#pragma once

#include "abi/types.h"

namespace fake_triton::implementation {

#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) returns name parameters;
#include "abi/functions.def"
#undef TRITON_FUNCTION

}  // namespace fake_triton::implementation
