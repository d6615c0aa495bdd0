#include "breach.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace fake_triton {
namespace {

thread_local const char* current_function = "a callback";

}  // namespace

CurrentFunction::CurrentFunction(const char* name) noexcept : outer_(current_function) {
    current_function = name;
}

CurrentFunction::~CurrentFunction() {
    current_function = outer_;
}

void breach(const std::string& what) {
    std::fprintf(stderr, "fake_triton: ownership breach: %s: %s\n", current_function, what.c_str());
    std::fflush(stderr);
    std::abort();
}

std::string describe(const void* object, const char* type) {
    std::array<char, 32> address = {};
    std::snprintf(address.data(), address.size(), "%p", object);
    return std::string(type) + " " + address.data();
}

}  // namespace fake_triton
