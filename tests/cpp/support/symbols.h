// Functions of libraries that were opened by hand.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace triton_inprocess::testing {

/// Sets the pointer to the fake's function of that name; throws where it has none.
template <typename Function>
void set_to_symbol(void* library, Function& pointer, const char* name) {
    pointer = reinterpret_cast<Function>(dlsym(library, name));
    if (pointer == nullptr) {
        throw std::runtime_error(std::string("the fake has no ") + name);
    }
}

}  // namespace triton_inprocess::testing
