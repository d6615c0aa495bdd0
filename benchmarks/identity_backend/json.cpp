#include "json.h"

#include <cstdint>
#include <stdexcept>

namespace identity {
namespace {

constexpr int deepest = 64;

void append_utf8(std::string& text, std::uint32_t code_point) {
    const auto continuation = [&text, code_point](int shift) {
        text += static_cast<char>(0x80U | ((code_point >> shift) & 0x3FU));
    };
    if (code_point < 0x80U) {
        text += static_cast<char>(code_point);
    } else if (code_point < 0x800U) {
        text += static_cast<char>(0xC0U | (code_point >> 6));
        continuation(0);
    } else if (code_point < 0x10000U) {
        text += static_cast<char>(0xE0U | (code_point >> 12));
        continuation(6);
        continuation(0);
    } else {
        text += static_cast<char>(0xF0U | (code_point >> 18));
        continuation(12);
        continuation(6);
        continuation(0);
    }
}

bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

}  // namespace

class JsonReader {
  public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    Json document() {
        Json value = read_value(0);
        skip_space();
        if (position_ != text_.size()) {
            refuse("the end");
        }
        return value;
    }

  private:
    [[noreturn]] void refuse(const std::string& expected) const {
        throw std::invalid_argument("not JSON: expected " + expected + " at character " + std::to_string(position_));
    }

    void skip_space() {
        while (position_ < text_.size() &&
               std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
            ++position_;
        }
    }

    char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

    bool take(char character) {
        if (peek() != character || position_ == text_.size()) {
            return false;
        }
        ++position_;
        return true;
    }

    void expect(char character) {
        if (!take(character)) {
            refuse(std::string("'") + character + "'");
        }
    }

    Json read_value(int depth) {
        if (depth > deepest) {
            refuse("no more than " + std::to_string(deepest) + " levels");
        }
        skip_space();
        switch (peek()) {
            case '{':
                return read_object(depth);
            case '[':
                return read_array(depth);
            case '"':
                return scalar(Json::Kind::string, read_string());
            case 't':
                return read_word("true", Json::Kind::boolean);
            case 'f':
                return read_word("false", Json::Kind::boolean);
            case 'n':
                read_word("null", Json::Kind::null);
                return Json();
            default:
                return scalar(Json::Kind::number, read_number());
        }
    }

    static Json scalar(Json::Kind kind, std::string text) {
        Json value;
        value.kind_ = kind;
        value.text_ = std::move(text);
        return value;
    }

    Json read_word(std::string_view word, Json::Kind kind) {
        if (text_.substr(position_, word.size()) != word) {
            refuse("'" + std::string(word) + "'");
        }
        position_ += word.size();
        return scalar(kind, std::string(word));
    }

    void skip_digits() {
        if (!is_digit(peek())) {
            refuse("a value");
        }
        while (is_digit(peek())) {
            ++position_;
        }
    }

    std::string read_number() {
        const std::size_t start = position_;
        take('-');
        if (!take('0')) {
            skip_digits();
        }
        if (take('.')) {
            skip_digits();
        }
        if (take('e') || take('E')) {
            if (!take('+')) {
                take('-');
            }
            skip_digits();
        }
        return std::string(text_.substr(start, position_ - start));
    }

    std::uint32_t read_code_unit() {
        std::uint32_t unit = 0;
        for (int digit = 0; digit < 4; ++digit) {
            const char character = peek();
            if (is_digit(character)) {
                unit = unit * 16 + static_cast<std::uint32_t>(character - '0');
            } else if (character >= 'a' && character <= 'f') {
                unit = unit * 16 + static_cast<std::uint32_t>(character - 'a' + 10);
            } else if (character >= 'A' && character <= 'F') {
                unit = unit * 16 + static_cast<std::uint32_t>(character - 'A' + 10);
            } else {
                refuse("four hexadecimal digits");
            }
            ++position_;
        }
        return unit;
    }

    std::uint32_t read_code_point() {
        const std::uint32_t unit = read_code_unit();
        if (unit >= 0xDC00U && unit <= 0xDFFFU) {
            refuse("a high surrogate before a low one");
        }
        if (unit < 0xD800U || unit > 0xDBFFU) {
            return unit;
        }
        expect('\\');
        expect('u');
        const std::uint32_t low = read_code_unit();
        if (low < 0xDC00U || low > 0xDFFFU) {
            refuse("a low surrogate");
        }
        return 0x10000U + ((unit - 0xD800U) << 10) + (low - 0xDC00U);
    }

    void read_escape(std::string& result) {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        if (take('u')) {
            append_utf8(result, read_code_point());
            return;
        }
        const std::size_t index = position_ < text_.size() ? letters.find(text_[position_]) : std::string_view::npos;
        if (index == std::string_view::npos) {
            refuse("an escape sequence");
        }
        result += meanings[index];
        ++position_;
    }

    std::string read_string() {
        expect('"');
        std::string result;
        while (!take('"')) {
            if (position_ == text_.size() || static_cast<unsigned char>(text_[position_]) < 0x20U) {
                refuse("'\"'");
            }
            if (take('\\')) {
                read_escape(result);
            } else {
                result += text_[position_++];
            }
        }
        return result;
    }

    Json read_array(int depth) {
        Json array;
        array.kind_ = Json::Kind::array;
        expect('[');
        skip_space();
        if (take(']')) {
            return array;
        }
        do {
            array.elements_.push_back(read_value(depth + 1));
            skip_space();
        } while (take(','));
        expect(']');
        return array;
    }

    Json read_object(int depth) {
        Json object;
        object.kind_ = Json::Kind::object;
        expect('{');
        skip_space();
        if (take('}')) {
            return object;
        }
        do {
            skip_space();
            std::string name = read_string();
            skip_space();
            expect(':');
            object.members_.emplace_back(std::move(name), read_value(depth + 1));
            skip_space();
        } while (take(','));
        expect('}');
        return object;
    }

    std::string_view text_;
    std::size_t position_ = 0;
};

Json Json::parse(std::string_view text) {
    return JsonReader(text).document();
}

const Json* Json::find(std::string_view name) const noexcept {
    for (const auto& [key, value] : members_) {
        if (key == name) {
            return &value;
        }
    }
    return nullptr;
}

}  // namespace identity
