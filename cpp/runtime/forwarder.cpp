// The forwarder library: exports every function of Triton's C ABI and passes each call on to the runtime that this
// package has loaded privately. Opened globally, on demand, for what expects those names in the global scope.
#include "runtime/function_table.h"

extern "C" {

__attribute__((visibility("default"))) triton_inprocess::FunctionTable triton_inprocess_forwarder_table = {};

#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) \
    __attribute__((visibility("default"))) returns name parameters {             \
        return triton_inprocess_forwarder_table.name arguments;                  \
    }
#include "abi/functions.def"
#undef TRITON_FUNCTION
}
