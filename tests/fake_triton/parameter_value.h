// A value of one of the C API's parameter types, where it can be pointed to.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "abi/types.h"

namespace fake_triton {

class ParameterValue {
  public:
    // NOLINTBEGIN(google-explicit-constructor): it is what it is made from
    ParameterValue(std::string value) : type_(TRITONSERVER_PARAMETER_STRING), value_(std::move(value)) {}
    ParameterValue(std::int64_t value) : type_(TRITONSERVER_PARAMETER_INT), value_(value) {}
    ParameterValue(bool value) : type_(TRITONSERVER_PARAMETER_BOOL), value_(value) {}
    ParameterValue(double value) : type_(TRITONSERVER_PARAMETER_DOUBLE), value_(value) {}
    // NOLINTEND(google-explicit-constructor)

    static ParameterValue bytes(std::string value) {
        ParameterValue result(std::move(value));
        result.type_ = TRITONSERVER_PARAMETER_BYTES;
        return result;
    }

    TRITONSERVER_ParameterType type() const noexcept { return type_; }

    /// What the C API gives a pointer to: the characters, or the value itself.
    const void* pointer() const noexcept {
        if (const auto* const text = std::get_if<std::string>(&value_)) {
            return text->c_str();
        }
        return std::visit([](const auto& value) { return static_cast<const void*>(&value); }, value_);
    }

    /// The value, or `otherwise` if it is of another type.
    template <typename T>
    T get(T otherwise) const {
        const T* const value = std::get_if<T>(&value_);
        return value != nullptr ? *value : otherwise;
    }

  private:
    TRITONSERVER_ParameterType type_;
    std::variant<std::string, std::int64_t, bool, double> value_;
};

}  // namespace fake_triton
