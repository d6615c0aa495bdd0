// Texts for the C API, which ends them at the first NUL.
#pragma once

#include <string>

#include "runtime/error.h"

namespace triton_inprocess {

/// The text as a C string; throws INVALID_ARG for one that C would silently cut.
inline const char* c_text(const std::string& text, const char* argument) {
    const std::size_t end = text.find('\0');
    if (end != std::string::npos) {
        throw Error(
            TRITONSERVER_ERROR_INVALID_ARG,
            std::string(argument) + " must not contain a NUL character, as after '" + text.substr(0, end) + "'");
    }
    return text.c_str();
}

}  // namespace triton_inprocess
