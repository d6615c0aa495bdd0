// What every C object of the fake derives from: its life is recorded.
#pragma once

#include <cstddef>

#include "registry.h"

namespace fake_triton {

/// T derives from this first, has no virtual functions, and names itself in `type_name`.
template <typename T>
class Live {
  public:
    Live(const Live&) = delete;
    Live& operator=(const Live&) = delete;

    static void* operator new(std::size_t size) { return Registry::allocate(size); }
    static void operator delete(void* memory) noexcept { Registry::instance().bury(memory); }

  protected:
    Live() { Registry::instance().add(this, T::type_name); }
    ~Live() { Registry::instance().remove(this); }
};

/// The object behind a pointer that came through the C API; ends the process if it is not alive.
template <typename T>
T& live(T* object) {
    Registry::instance().require(object, T::type_name);
    return *object;
}

template <typename T>
const T& live(const T* object) {
    Registry::instance().require(object, T::type_name);
    return *object;
}

}  // namespace fake_triton
