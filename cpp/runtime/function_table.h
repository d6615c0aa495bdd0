// The functions of the loaded libtritonserver, one pointer each, named as in the C API.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "abi/types.h"

namespace triton_inprocess {

struct FunctionTable {
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) returns(*name) parameters;
#include "abi/functions.def"
#undef TRITON_FUNCTION
};

constexpr std::size_t function_count = sizeof(FunctionTable) / sizeof(void (*)());

/// The table that the process uses. Its pointers are valid once `Runtime::load` has succeeded.
const FunctionTable& api() noexcept;

/// Whether the loaded library has the function of that name; false for one that this table does not know.
bool available(const std::string& function) noexcept;

/// Throws what a call of `function` would give, UNSUPPORTED, when the loaded library lacks it: for a use that may find
/// nothing to call it for, and whose failure must not hang on that.
void require_function(const std::string& function);

namespace detail {

/// Fills the process's table from the library behind `handle`. A function that the library lacks is replaced by
/// a stand-in that returns an UNSUPPORTED error (`library` names the library there); the names of those are
/// returned. One that returns no error cannot be stood in for: its absence throws.
std::vector<std::string> fill_function_table(void* handle, const std::string& library);

void describe_library(std::string description);

}  // namespace detail
}  // namespace triton_inprocess
