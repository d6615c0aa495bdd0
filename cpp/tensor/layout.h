// How the elements of an array lie in memory, and how they are gathered where they do not lie one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace triton_inprocess {

struct Layout {
    /// One after the other. Throws INVALID_ARG for what no memory holds.
    static Layout c_order(std::vector<std::int64_t> shape, std::size_t element_size);

    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;  ///< In bytes, of either sign or zero; as many as dimensions.
    std::size_t element_size = 0;
    bool swapped = false;  ///< Whether the bytes of each element are in the order that is not this machine's.

    /// Whether the memory is what Triton reads: all elements in C order with no gap, in native byte order. The stride
    /// of a dimension of size 1 means nothing, and without elements no stride does.
    bool plain() const noexcept;

    /// Bytes of all elements. Throws INVALID_ARG for a negative dimension or more than can be addressed.
    std::size_t byte_size() const;

    /// Copies the elements to `target`, in C order and native byte order. `source` is the address of the element whose
    /// indices are all 0.
    void gather(const void* source, void* target) const;
};

/// "[8, 4]"
std::string strides_text(const Layout& layout);

}  // namespace triton_inprocess
