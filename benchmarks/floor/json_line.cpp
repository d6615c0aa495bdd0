#include "json_line.h"

#include <sstream>

namespace triton_inprocess::benchmarks {
namespace {

std::string quoted(const std::string& text) {
    constexpr char hexadecimal[] = "0123456789abcdef";
    std::string result = "\"";
    for (const char character : text) {
        const auto code = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            result += '\\';
            result += character;
        } else if (code < 0x20U) {
            result += "\\u00";
            result += hexadecimal[code >> 4];
            result += hexadecimal[code & 0xFU];
        } else {
            result += character;
        }
    }
    return result + '"';
}

}  // namespace

JsonLine& JsonLine::add(const char* name, const std::string& text) {
    return add_raw(name, quoted(text));
}

JsonLine& JsonLine::add(const char* name, std::size_t number) {
    return add_raw(name, std::to_string(number));
}

JsonLine& JsonLine::add(const char* name, double number) {
    std::ostringstream text;
    text.precision(9);
    text << number;
    return add_raw(name, text.str());
}

JsonLine& JsonLine::add_raw(const char* name, const std::string& value) {
    fields_ += (fields_.size() > 1 ? ", " : "") + quoted(name) + ": " + value;
    return *this;
}

}  // namespace triton_inprocess::benchmarks
