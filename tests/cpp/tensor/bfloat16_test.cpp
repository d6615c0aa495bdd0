// Rounding to BF16.
#include "tensor/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace triton_inprocess::testing {
namespace {

float from_bfloat16(std::uint16_t bits) {
    const auto upper_half = static_cast<std::uint32_t>(bits) << 16U;
    float value = 0;
    std::memcpy(&value, &upper_half, sizeof(value));
    return value;
}

TEST(Bfloat16Test, EveryValueComesBack) {
    for (std::uint32_t bits = 0; bits <= UINT16_MAX; ++bits) {
        const float value = from_bfloat16(static_cast<std::uint16_t>(bits));
        if (std::isnan(value)) {
            EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(value))));
            EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(static_cast<double>(value)))));
        } else {
            EXPECT_EQ(to_bfloat16(value), bits);
            EXPECT_EQ(to_bfloat16(static_cast<double>(value)), bits);
        }
    }
}

TEST(Bfloat16Test, TheNearestAndOfTwoTheEven) {
    for (std::uint32_t bits = 0; bits < 0x7F7FU; ++bits) {
        const auto low = static_cast<std::uint16_t>(bits);
        const auto high = static_cast<std::uint16_t>(bits + 1);
        const double tie = (static_cast<double>(from_bfloat16(low)) + static_cast<double>(from_bfloat16(high))) / 2;
        const std::uint16_t even = bits % 2 == 0 ? low : high;
        EXPECT_EQ(to_bfloat16(tie), even);
        EXPECT_EQ(to_bfloat16(static_cast<float>(tie)), even);
        // A hair's breadth beside the tie, where to round to float first would hit the tie.
        EXPECT_EQ(to_bfloat16(std::nextafter(tie, 1e300)), high);
        EXPECT_EQ(to_bfloat16(std::nextafter(tie, -1e300)), low);
        EXPECT_EQ(to_bfloat16(-std::nextafter(tie, 1e300)), high | 0x8000U);
    }
}

TEST(Bfloat16Test, BeyondTheLargestIsInfinity) {
    constexpr std::uint16_t infinity = 0x7F80;
    EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()), infinity);
    EXPECT_EQ(to_bfloat16(std::numeric_limits<double>::max()), infinity);
    EXPECT_EQ(to_bfloat16(-std::numeric_limits<double>::infinity()), infinity | 0x8000U);
    EXPECT_EQ(to_bfloat16(std::numeric_limits<double>::denorm_min()), 0);
    EXPECT_EQ(to_bfloat16(-0.0), 0x8000U);
}

TEST(Bfloat16Test, Integers) {
    EXPECT_EQ(from_bfloat16(to_bfloat16(std::int64_t{-3})), -3);
    EXPECT_EQ(from_bfloat16(to_bfloat16(std::numeric_limits<std::int64_t>::min())), -0x1p63F);
    EXPECT_EQ(from_bfloat16(to_bfloat16(std::numeric_limits<std::uint64_t>::max())), 0x1p64F);
    // The tie between 2^63 and the next, and one more: the even one, and the one above.
    constexpr std::uint64_t tie = 0x8080000000000000;
    EXPECT_EQ(from_bfloat16(to_bfloat16(tie)), 0x1p63F);
    EXPECT_EQ(from_bfloat16(to_bfloat16(tie + 1)), 0x1.02p63F);
    EXPECT_EQ(from_bfloat16(to_bfloat16(tie - 1)), 0x1p63F);
}

}  // namespace
}  // namespace triton_inprocess::testing
