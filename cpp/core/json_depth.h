// A guard for texts that the library parses by recursion, without a limit of its own: deeper ones exhaust its stack.
#pragma once

#include <string>

namespace triton_inprocess {

/// Throws INVALID_ARG for a JSON text that is nested more than 1000 levels deep.
void check_json_depth(const std::string& json);

}  // namespace triton_inprocess
