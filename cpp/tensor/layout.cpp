#include "tensor/layout.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/error.h"
#include "tensor/data_type.h"

namespace triton_inprocess {
namespace {

struct Dimension {
    std::int64_t size;
    std::int64_t stride;
};

/// As few dimensions as the elements need: those of size 1 are left out, those that lie as one are joined. The last
/// one, which has the elements of the innermost loop, is always there.
std::vector<Dimension> joined(const Layout& layout) {
    std::vector<Dimension> dimensions;
    for (std::size_t i = 0; i < layout.shape.size(); ++i) {
        const Dimension next{layout.shape[i], layout.strides[i]};
        if (next.size == 1) {
            continue;
        }
        if (!dimensions.empty() && dimensions.back().stride == next.size * next.stride) {
            dimensions.back() = {dimensions.back().size * next.size, next.stride};
        } else {
            dimensions.push_back(next);
        }
    }
    if (dimensions.empty()) {
        dimensions.push_back({1, static_cast<std::int64_t>(layout.element_size)});
    }
    return dimensions;
}

std::uint8_t swapped(std::uint8_t value) noexcept {
    return value;
}
std::uint16_t swapped(std::uint16_t value) noexcept {
    return __builtin_bswap16(value);
}
std::uint32_t swapped(std::uint32_t value) noexcept {
    return __builtin_bswap32(value);
}
std::uint64_t swapped(std::uint64_t value) noexcept {
    return __builtin_bswap64(value);
}

/// Copies one row: `size` elements that are `stride` bytes apart. Neither side need be aligned.
template <typename Element, bool swap>
void copy_row(const char* source, std::int64_t stride, std::int64_t size, char* target) noexcept {
    if (!swap && stride == static_cast<std::int64_t>(sizeof(Element))) {
        std::memcpy(target, source, static_cast<std::size_t>(size) * sizeof(Element));
        return;
    }
    for (std::int64_t i = 0; i < size; ++i) {
        Element element;
        std::memcpy(&element, source + i * stride, sizeof(element));
        if (swap) {
            element = swapped(element);
        }
        std::memcpy(target + i * static_cast<std::int64_t>(sizeof(element)), &element, sizeof(element));
    }
}

using CopyRow = void (*)(const char*, std::int64_t, std::int64_t, char*) noexcept;

template <bool swap>
CopyRow copy_row_of(std::size_t element_size) {
    switch (element_size) {
        case 1:
            return copy_row<std::uint8_t, swap>;
        case 2:
            return copy_row<std::uint16_t, swap>;
        case 4:
            return copy_row<std::uint32_t, swap>;
        case 8:
            return copy_row<std::uint64_t, swap>;
        default:
            throw Error(TRITONSERVER_ERROR_INTERNAL,
                        "no element has " + std::to_string(element_size) + " bytes: nothing can gather them");
    }
}

}  // namespace

Layout Layout::c_order(std::vector<std::int64_t> shape, std::size_t element_size) {
    Layout layout;
    layout.shape = std::move(shape);
    layout.element_size = element_size;
    layout.byte_size();
    layout.strides.resize(layout.shape.size());
    // Unsigned: without elements the products may wrap around, and mean nothing.
    auto stride = static_cast<std::uint64_t>(element_size);
    for (std::size_t i = layout.shape.size(); i-- > 0;) {
        layout.strides[i] = static_cast<std::int64_t>(stride);
        stride *= static_cast<std::uint64_t>(layout.shape[i]);
    }
    return layout;
}

bool Layout::plain() const noexcept {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
        return true;
    }
    if (swapped && element_size > 1) {
        return false;
    }
    // Wraps around for a claim that no memory can hold, which byte_size refuses.
    auto expected = static_cast<std::uint64_t>(element_size);
    for (std::size_t i = shape.size(); i-- > 0;) {
        if (shape[i] != 1 && static_cast<std::uint64_t>(strides[i]) != expected) {
            return false;
        }
        expected *= static_cast<std::uint64_t>(shape[i]);
    }
    return true;
}

std::size_t Layout::byte_size() const {
    const std::size_t count = element_count(shape.data(), shape.size());
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, element_size, &bytes) || bytes > static_cast<std::size_t>(INT64_MAX)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "shape " + shape_text(shape.data(), shape.size()) + " is too large");
    }
    return bytes;
}

void Layout::gather(const void* source, void* target) const {
    if (byte_size() == 0) {
        return;
    }
    const CopyRow copy = swapped ? copy_row_of<true>(element_size) : copy_row_of<false>(element_size);
    const std::vector<Dimension> dimensions = joined(*this);
    const Dimension row = dimensions.back();
    const std::int64_t row_bytes = row.size * static_cast<std::int64_t>(element_size);
    std::vector<std::int64_t> index(dimensions.size() - 1);
    const auto* from = static_cast<const char*>(source);
    auto* to = static_cast<char*>(target);
    while (true) {
        copy(from, row.stride, row.size, to);
        to += row_bytes;
        // The next row, as an odometer counts.
        std::size_t i = index.size();
        while (i-- > 0) {
            from += dimensions[i].stride;
            if (++index[i] < dimensions[i].size) {
                break;
            }
            from -= dimensions[i].stride * dimensions[i].size;
            index[i] = 0;
        }
        if (i == static_cast<std::size_t>(-1)) {
            return;
        }
    }
}

std::string strides_text(const Layout& layout) {
    return shape_text(layout.strides.data(), layout.strides.size());
}

}  // namespace triton_inprocess
