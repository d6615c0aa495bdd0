// The little of the ELF format that is needed before a file may be handed to the dynamic linker.
#pragma once

#include <string>
#include <vector>

namespace triton_inprocess {

/// The NEEDED entries of a shared library, in their order.
///
/// Throws INVALID_ARG for what is no 64-bit shared library of this machine, and for a truncated one: the dynamic
/// linker would map it and the process would die of SIGBUS on the missing pages.
std::vector<std::string> needed_libraries(const std::string& path);

}  // namespace triton_inprocess
