// Numbers that no other process has.
#pragma once

#include <cstdint>

namespace triton_inprocess {

/// 64 random bits from the kernel.
std::uint64_t random_number();

}  // namespace triton_inprocess
