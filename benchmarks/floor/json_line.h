// A JSON object on one line, written field by field.
#pragma once

#include <cstddef>
#include <string>

namespace triton_inprocess::benchmarks {

class JsonLine {
  public:
    JsonLine& add(const char* name, const std::string& text);
    JsonLine& add(const char* name, std::size_t number);
    JsonLine& add(const char* name, double number);

    std::string text() const { return fields_ + "}"; }

  private:
    JsonLine& add_raw(const char* name, const std::string& value);

    std::string fields_ = "{";
};

}  // namespace triton_inprocess::benchmarks
