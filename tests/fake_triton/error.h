// The C error.
#pragma once

#include <string>
#include <utility>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_Error : fake_triton::Live<TRITONSERVER_Error> {
    static constexpr const char* type_name = "Error";

    TRITONSERVER_Error(TRITONSERVER_Error_Code error_code, std::string text)
        : code(error_code), message(std::move(text)) {}

    const TRITONSERVER_Error_Code code;
    const std::string message;
};

namespace fake_triton {

inline TRITONSERVER_Error* failure(TRITONSERVER_Error_Code code, std::string message) {
    return new TRITONSERVER_Error(code, std::move(message));
}

/// What a callback returned, taken over: empty for success.
inline std::string take_message(TRITONSERVER_Error* error) {
    if (error == nullptr) {
        return {};
    }
    std::string message = live(error).message;
    delete error;
    return message.empty() ? "an error without a message" : message;
}

}  // namespace fake_triton
