#include "tensor/bytes_codec.h"

#include <cstring>
#include <string>

#include "runtime/error.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

using Length = std::uint32_t;  // this project's platforms are little-endian, as the encoding is

[[noreturn]] void malformed(std::size_t element, std::size_t offset, const std::string& reason) {
    throw Error(TRITONSERVER_ERROR_INVALID_ARG, "malformed BYTES data at element " + std::to_string(element) +
                                                    ", offset " + std::to_string(offset) + ": " + reason);
}

}  // namespace

Ref<Buffer> encode_bytes(const std::vector<std::string_view>& elements) {
    std::size_t total = 0;
    for (const std::string_view& element : elements) {
        if (element.size() > UINT32_MAX) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG, "a BYTES element of " + std::to_string(element.size()) +
                                                            " bytes is longer than the 4 GiB that Triton can hold");
        }
        total += sizeof(Length) + element.size();
    }
    Ref<Buffer> buffer = HostBufferPool::instance().allocate(total);
    auto* cursor = static_cast<char*>(buffer->data());
    for (const std::string_view& element : elements) {
        const auto length = static_cast<Length>(element.size());
        std::memcpy(cursor, &length, sizeof(length));
        cursor += sizeof(length);
        if (!element.empty()) {
            std::memcpy(cursor, element.data(), element.size());
            cursor += element.size();
        }
    }
    return buffer;
}

std::vector<std::string_view> decode_bytes(const void* data, std::size_t byte_size, std::size_t count) {
    if (count > byte_size / sizeof(Length)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "malformed BYTES data: " + std::to_string(byte_size) +
                                                        " bytes cannot hold " + std::to_string(count) + " elements");
    }
    std::vector<std::string_view> elements;
    elements.reserve(count);
    const auto* begin = static_cast<const char*>(data);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Length length = 0;
        if (byte_size - offset < sizeof(length)) {
            malformed(i, offset, "the length is cut off");
        }
        std::memcpy(&length, begin + offset, sizeof(length));
        offset += sizeof(length);
        if (length > byte_size - offset) {
            malformed(i, offset,
                      std::to_string(length) + " bytes announced, " + std::to_string(byte_size - offset) + " left");
        }
        elements.emplace_back(begin + offset, length);
        offset += length;
    }
    if (offset != byte_size) {
        malformed(count, offset, std::to_string(byte_size - offset) + " bytes follow the last element");
    }
    return elements;
}

}  // namespace triton_inprocess
