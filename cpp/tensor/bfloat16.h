// Rounding to BF16, which no C++ type of this language version has: the upper half of a float's bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace triton_inprocess {

/// The nearest BF16, of two equally near the even one; beyond the largest it is infinity, and a NaN stays one.
std::uint16_t to_bfloat16(float value) noexcept;
std::uint16_t to_bfloat16(double value) noexcept;
std::uint16_t to_bfloat16(std::int64_t value) noexcept;
std::uint16_t to_bfloat16(std::uint64_t value) noexcept;

/// Exact.
float from_bfloat16(std::uint16_t bits) noexcept;

}  // namespace triton_inprocess
