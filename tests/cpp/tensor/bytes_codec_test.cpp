// The encoding of BYTES.
#include "tensor/bytes_codec.h"

#include <random>
#include <string>

#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

using namespace std::string_view_literals;

std::vector<std::string_view> decode(const std::string& bytes, std::size_t count) {
    return decode_bytes(bytes.data(), bytes.size(), count);
}

TEST(BytesCodecTest, RoundTrip) {
    const std::vector<std::string_view> elements = {"a"sv, ""sv, "\0\xff"sv, "something longer"sv};
    const Ref<Buffer> buffer = encode_bytes(elements);
    EXPECT_EQ(decode_bytes(buffer->data(), buffer->byte_size(), elements.size()), elements);
    EXPECT_EQ(encode_bytes({})->byte_size(), 0U);
    EXPECT_TRUE(decode("", 0).empty());
    EXPECT_TRUE(decode_bytes(nullptr, 0, 0).empty());
}

TEST(BytesCodecTest, EveryCutIsAnError) {
    const std::vector<std::string_view> elements = {"one"sv, "two"sv};
    const Ref<Buffer> buffer = encode_bytes(elements);
    const std::string whole(static_cast<const char*>(buffer->data()), buffer->byte_size());
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // On the heap and no longer than that: a sanitizer sees what reads past the end.
        const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(error_of([&] { decode_bytes(cut.data(), cut.size(), 2); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    }
    EXPECT_EQ(error_of([&] { decode(whole + "x", 2); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([&] { decode(whole, SIZE_MAX); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

TEST(BytesCodecTest, AnyMemoryIsReadOrRefused) {
    std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
    const auto number = [&](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit)(random); };
    std::size_t read = 0;
    for (int repetition = 0; repetition < 20000; ++repetition) {
        // Something well-formed, of which a few bytes are changed and the end is cut off or made longer.
        std::vector<std::string> texts(number(4));
        for (std::string& text : texts) {
            text.assign(number(6), static_cast<char>(number(255)));
        }
        const Ref<Buffer> encoded = encode_bytes({texts.begin(), texts.end()});
        const auto* const data = static_cast<const char*>(encoded->data());
        std::vector<char> bytes(data, data + encoded->byte_size());
        for (std::size_t changes = number(2); changes > 0 && !bytes.empty(); --changes) {
            bytes[number(bytes.size() - 1)] = static_cast<char>(number(255));
        }
        if (number(3) == 0) {
            bytes.resize(number(bytes.size() + 5));
        }
        const std::vector<char> exact(bytes);  // no longer than that: a sanitizer sees what reads past the end
        try {
            std::size_t size = 0;
            for (const std::string_view& element : decode_bytes(exact.data(), exact.size(), texts.size())) {
                size += sizeof(std::uint32_t) + std::string(element).size();
            }
            EXPECT_EQ(size, exact.size());
            ++read;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), TRITONSERVER_ERROR_INVALID_ARG);
        }
    }
    EXPECT_GT(read, 1000U);
}

TEST(BytesCodecTest, ALengthBeyondTheEndNamesTheElement) {
    const Error error = error_of([] { decode(std::string("\1\0\0\0a\xff\xff\xff\xff", 9), 2); });
    EXPECT_NE(error.message().find("element 1"), std::string::npos) << error.message();
}

}  // namespace
}  // namespace triton_inprocess::testing
