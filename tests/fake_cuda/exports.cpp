// The exported driver API, generated from the table: each call is counted and recorded, fails if a test has said so or
// the driver may not be used, and otherwise goes to the implementation of the same name.
#include <unistd.h>

#include <mutex>
#include <string>

#include "calls.h"
#include "implementation.h"
#include "state.h"

namespace fake_cuda {
namespace {

/// Whether the function works without cuInit, and in a forked child.
bool always_works(const std::string& name) {
    return name == "cuInit" || name == "cuDriverGetVersion" || name == "cuGetErrorName" || name == "cuGetErrorString";
}

template <typename Body>
CUresult call(const char* name, const std::string& arguments, Body body) {
    CUresult result = CUDA_SUCCESS;
    if (!Calls::instance().enter(name, result)) {
        std::int64_t process = 0;
        {
            const std::scoped_lock guard(State::instance().mutex);
            process = State::instance().process;
        }
        if (always_works(name)) {
            result = body();
        } else if (process == 0) {
            result = CUDA_ERROR_NOT_INITIALIZED;
        } else if (process != getpid()) {
            Calls::instance().breach(std::string(name) + " was called in a forked child");
            result = CUDA_ERROR_NOT_INITIALIZED;
        } else {
            result = body();
        }
    }
    Calls::instance().record(name, arguments, result);
    return result;
}

}  // namespace
}  // namespace fake_cuda

extern "C" {
#define CUDA_FUNCTION(name, symbol, need, parameters, arguments)                           \
    __attribute__((visibility("default"))) CUresult symbol parameters {                    \
        return fake_cuda::call(#name, fake_cuda::shown_all arguments,                      \
                               [&] { return fake_cuda::implementation::name arguments; }); \
    }
#include "abi/cuda_functions.def"
#undef CUDA_FUNCTION
}
