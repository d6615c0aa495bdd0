// Triton's BYTES encoding: each element is a 32-bit little-endian length followed by that many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tensor/buffer.h"

namespace triton_inprocess {

/// Encodes the elements into one buffer: one pass to size it, one to fill it. Throws INVALID_ARG for an element
/// longer than 4 GiB.
Ref<Buffer> encode_bytes(const std::vector<std::string_view>& elements);

/// Views of the elements in `data`. Throws INVALID_ARG, naming element and offset, when the bytes do not hold exactly
/// `count` elements.
std::vector<std::string_view> decode_bytes(const void* data, std::size_t byte_size, std::size_t count);

}  // namespace triton_inprocess
