// As much JSON as it takes to read a model's configuration.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace identity {

class Json {
  public:
    enum class Kind { null, boolean, number, string, array, object };

    /// Throws std::invalid_argument, naming the place, for what is not exactly one JSON value.
    static Json parse(std::string_view text);

    Kind kind() const noexcept { return kind_; }

    /// The characters of a string, or a number, `true` or `false` as written; empty for the others.
    const std::string& text() const noexcept { return text_; }

    /// The member of that name; null when this is no object or has no such member.
    const Json* find(std::string_view name) const noexcept;

  private:
    friend class JsonReader;

    Kind kind_ = Kind::null;
    std::string text_;
    std::vector<Json> elements_;
    std::vector<std::pair<std::string, Json>> members_;
};

}  // namespace identity
