#include "tensor/bfloat16.h"

#include <cmath>
#include <cstring>

namespace triton_inprocess {
namespace {

std::uint32_t bits_of(float value) noexcept {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float of_bits(std::uint32_t bits) noexcept {
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

/// The value with the bits below the lowest kept one folded into it: rounding twice would round a value that is just
/// beyond a tie to the wrong side, a last bit that tells "there was more" prevents that. 53 bits are enough for 8.
std::uint64_t folded(std::uint64_t magnitude) noexcept {
    constexpr std::uint64_t exact = std::uint64_t{1} << 53;
    constexpr std::uint64_t low = (std::uint64_t{1} << 11) - 1;
    if (magnitude < exact) {
        return magnitude;
    }
    return (magnitude & ~low) | ((magnitude & low) != 0 ? low + 1 : 0);
}

}  // namespace

std::uint16_t to_bfloat16(float value) noexcept {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t odd = (bits >> 16U) & 1U;
    const std::uint32_t rounded = (bits + 0x7FFFU + odd) >> 16U;
    const std::uint32_t quiet_nan = (bits >> 16U) | 0x40U;  // quiet, so that the kept half alone is a NaN
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet_nan : rounded);
}

std::uint16_t to_bfloat16(double value) noexcept {
    if (std::isnan(value) || std::isinf(value)) {
        return to_bfloat16(static_cast<float>(value));
    }
    // Towards zero, with the last bit telling that there was more (see `folded`).
    const auto rounded = static_cast<float>(value);
    std::uint32_t bits = bits_of(rounded);
    if (std::fabs(static_cast<double>(rounded)) > std::fabs(value)) {
        --bits;
    }
    if (static_cast<double>(of_bits(bits)) != value) {
        bits |= 1U;
    }
    return to_bfloat16(of_bits(bits));
}

std::uint16_t to_bfloat16(std::uint64_t value) noexcept {
    return to_bfloat16(static_cast<double>(folded(value)));
}

std::uint16_t to_bfloat16(std::int64_t value) noexcept {
    const bool negative = value < 0;
    const std::uint64_t magnitude = negative ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const auto folded_value = static_cast<double>(folded(magnitude));
    return to_bfloat16(negative ? -folded_value : folded_value);
}

template <typename Value>
void to_bfloat16(const void* values, std::size_t count, std::uint16_t* target) noexcept {
    const auto* const bytes = static_cast<const char*>(values);
    for (std::size_t i = 0; i < count; ++i) {
        Value value;
        std::memcpy(&value, bytes + i * sizeof(value), sizeof(value));
        target[i] = to_bfloat16(value);
    }
}

template void to_bfloat16<float>(const void*, std::size_t, std::uint16_t*) noexcept;
template void to_bfloat16<double>(const void*, std::size_t, std::uint16_t*) noexcept;
template void to_bfloat16<std::int64_t>(const void*, std::size_t, std::uint16_t*) noexcept;
template void to_bfloat16<std::uint64_t>(const void*, std::size_t, std::uint16_t*) noexcept;

}  // namespace triton_inprocess
