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

/// All of an array of one of the types above, which need not be aligned.
template <typename Value>
void to_bfloat16(const void* values, std::size_t count, std::uint16_t* target) noexcept;

extern template void to_bfloat16<float>(const void*, std::size_t, std::uint16_t*) noexcept;
extern template void to_bfloat16<double>(const void*, std::size_t, std::uint16_t*) noexcept;
extern template void to_bfloat16<std::int64_t>(const void*, std::size_t, std::uint16_t*) noexcept;
extern template void to_bfloat16<std::uint64_t>(const void*, std::size_t, std::uint16_t*) noexcept;

}  // namespace triton_inprocess
