// Layouts of arrays and the gathering of their elements.
#include "tensor/layout.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

Layout layout_of(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides, std::size_t element_size = 4) {
    return {std::move(shape), std::move(strides), element_size, false};
}

TEST(LayoutTest, EveryDimensionCounts) {
    EXPECT_TRUE(layout_of({2, 3}, {12, 4}).plain());
    EXPECT_FALSE(layout_of({2, 3}, {4, 8}).plain());
    EXPECT_FALSE(layout_of({4}, {8}).plain());  // every second: the outermost dimension is one, too
    EXPECT_FALSE(layout_of({4}, {-4}).plain());
    EXPECT_FALSE(layout_of({4}, {0}).plain());
    EXPECT_FALSE(layout_of({2, 2}, {16, 4}).plain());
    EXPECT_TRUE(layout_of({}, {}).plain());
}

TEST(LayoutTest, StridesThatMeanNothingAreIgnored) {
    EXPECT_TRUE(layout_of({1, 3}, {3200, 4}).plain());
    EXPECT_TRUE(layout_of({4, 1}, {4, 28}).plain());
    EXPECT_TRUE(layout_of({1}, {-7}).plain());
    EXPECT_TRUE(layout_of({0, 3}, {1, -99}).plain());
    EXPECT_TRUE(layout_of({3, 0}, {INT64_MIN, INT64_MAX}).plain());
}

TEST(LayoutTest, TheOtherByteOrderIsNotPlain) {
    Layout layout = layout_of({3}, {4});
    layout.swapped = true;
    EXPECT_FALSE(layout.plain());
    layout.shape = {0};
    EXPECT_TRUE(layout.plain());
    Layout bytes = layout_of({3}, {1}, 1);
    bytes.swapped = true;
    EXPECT_TRUE(bytes.plain());
}

TEST(LayoutTest, WhatNoMemoryHoldsIsRefused) {
    EXPECT_EQ(layout_of({2, 3}, {12, 4}).byte_size(), 24U);
    EXPECT_EQ(layout_of({INT64_MAX, 0}, {4, 4}).byte_size(), 0U);
    EXPECT_EQ(error_of([] { layout_of({INT64_MAX, 2}, {4, 4}).byte_size(); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([] { layout_of({INT64_MAX}, {4}).byte_size(); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([] { layout_of({-1}, {4}).byte_size(); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

/// The bytes of the elements in C order, one at a time: what `gather` must give.
std::vector<char> expected_of(const Layout& layout, const char* source) {
    std::vector<char> result;
    std::vector<std::int64_t> index(layout.shape.size());
    const auto count = layout.byte_size() / layout.element_size;
    for (std::size_t n = 0; n < count; ++n) {
        auto rest = static_cast<std::int64_t>(n);
        const char* from = source;
        for (std::size_t i = layout.shape.size(); i-- > 0;) {
            from += rest % layout.shape[i] * layout.strides[i];
            rest /= layout.shape[i];
        }
        std::vector<char> element(from, from + layout.element_size);
        if (layout.swapped) {
            std::reverse(element.begin(), element.end());
        }
        result.insert(result.end(), element.begin(), element.end());
    }
    return result;
}

TEST(LayoutTest, AnyLayoutIsGathered) {
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
    const auto number = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    for (int repetition = 0; repetition < 3000; ++repetition) {
        Layout layout;
        layout.element_size = std::size_t{1} << static_cast<unsigned>(number(0, 3));
        layout.swapped = number(0, 1) != 0;
        // How far the elements reach below and above the first one.
        std::int64_t below = 0;
        std::int64_t above = 0;
        bool empty = false;
        for (std::int64_t rank = number(0, 5); rank > 0; --rank) {
            layout.shape.push_back(number(0, 4));
            layout.strides.push_back(number(-20, 20));
            empty = empty || layout.shape.back() == 0;
            const std::int64_t reach = (layout.shape.back() - 1) * layout.strides.back();
            (reach < 0 ? below : above) += reach;
        }
        // On the heap and no longer than that: a sanitizer sees what reads beyond.
        const std::size_t size = empty ? 0 : static_cast<std::size_t>(above - below) + layout.element_size;
        std::vector<char> memory(size);
        std::iota(memory.begin(), memory.end(), static_cast<char>(repetition));
        const char* const first = memory.data() - (empty ? 0 : below);
        std::vector<char> target(layout.byte_size());
        layout.gather(first, target.data());
        EXPECT_EQ(target, expected_of(layout, first));
    }
}

}  // namespace
}  // namespace triton_inprocess::testing
