// What Python gives, as the exact C++ value; what is wrong is said with the argument's name.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace triton_inprocess {

/// The name of an object's class.
std::string class_name(nanobind::handle value);

/// Throws TypeError: "<argument> must be <expected>, not <class>".
[[noreturn]] void wrong_type(std::string_view argument, const char* expected, nanobind::handle value);

/// Throws TypeError for an object of a bound class whose __init__ has not run: one of a subclass that does not call it,
/// or what the copy module makes.
void require_initialized(std::string_view argument, nanobind::handle value);

/// What is in an object of a bound class; TypeError for any other.
template <typename T>
T& instance_argument(std::string_view argument, const char* expected, nanobind::handle value) {
    if (!nanobind::isinstance<T>(value)) {
        wrong_type(argument, expected, value);
    }
    require_initialized(argument, value);
    return nanobind::cast<T&>(value);
}

/// The object itself, which can be called.
nanobind::object callable_argument(std::string_view argument, nanobind::object value);

/// A str without NUL characters, as UTF-8.
std::string text_argument(std::string_view argument, nanobind::handle value);

/// An int, or what has an index as numpy's integers do; a bool is none.
bool is_integer(nanobind::handle value);

/// A bool of Python's or numpy's.
bool is_bool(nanobind::handle value);
bool bool_argument(std::string_view argument, nanobind::handle value);

/// Throws ValueError outside 0 to `limit`.
std::uint64_t unsigned_argument(std::string_view argument, nanobind::handle value, std::uint64_t limit);

/// Throws OverflowError outside 64 bits.
std::int64_t integer_argument(std::string_view argument, nanobind::handle value);

/// A float or an integer, of Python's or numpy's.
double float_argument(std::string_view argument, nanobind::handle value);

using ParameterValue = std::variant<bool, std::string, std::int64_t, double>;

/// The value of a parameter, by its exact type: a bool is no integer, an integer no float.
ParameterValue parameter_argument(std::string_view argument, nanobind::handle value);

}  // namespace triton_inprocess
