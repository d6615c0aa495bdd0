// Prototypes of the functions that the server exports. The backend leaves them undefined: whoever opens it has put
// them into the global scope (Runtime::open_forwarder), so one build serves every libtritonserver.
#pragma once

#include "abi/types.h"

extern "C" {
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) returns name parameters;
#include "abi/functions.def"
#undef TRITON_FUNCTION
}
