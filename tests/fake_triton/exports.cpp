// The exported C API, generated from the table: each call is counted, fails if a test has said so, and otherwise goes
// to the implementation of the same name.
#include <type_traits>

#include "breach.h"
#include "faults.h"
#include "implementation.h"

namespace fake_triton {
namespace {

template <typename Result, typename Body>
Result call(Function function, Body body) {
    const CurrentFunction scope(name_of(function));
    TRITONSERVER_Error* const error = Faults::instance().enter(function);
    if constexpr (std::is_same_v<Result, TRITONSERVER_Error*>) {
        if (error != nullptr) {
            return error;
        }
    }
    return body();
}

/// What a function of the backend API does that nobody has implemented: the fake runs no backends.
template <typename Result>
Result unsupported(const char* name) {
    if constexpr (std::is_same_v<Result, TRITONSERVER_Error*>) {
        return failure(TRITONSERVER_ERROR_UNSUPPORTED, std::string("the fake libtritonserver has no ") + name);
    } else if constexpr (!std::is_void_v<Result>) {
        return {};
    }
}

}  // namespace

namespace implementation {

#define DEFINE_SERVER(name, returns, parameters)
#define DEFINE_BACKEND(name, returns, parameters)   \
    __attribute__((weak)) returns name parameters { \
        return unsupported<returns>(#name);         \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) DEFINE_##api(name, returns, parameters)
#include "abi/functions.def"
#undef TRITON_FUNCTION
#pragma GCC diagnostic pop

}  // namespace implementation
}  // namespace fake_triton

extern "C" {
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments)                                     \
    __attribute__((visibility("default"))) returns name parameters {                                                 \
        return fake_triton::call<returns>(fake_triton::Function::name,                                               \
                                          [&]() -> returns { return fake_triton::implementation::name arguments; }); \
    }
#include "abi/functions.def"
#undef TRITON_FUNCTION
}
