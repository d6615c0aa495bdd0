// An attribute of a Python module, looked up once.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

namespace triton_inprocess {

/// To be a global. A static variable of a function would deadlock: the import can hand the GIL to a thread that then
/// waits for the variable's initialisation, with the GIL. Here both look it up, and one of them wins.
class CachedAttribute {
  public:
    constexpr CachedAttribute(const char* module, const char* name) noexcept : module_(module), name_(name) {}

    nanobind::handle get() {
        if (PyObject* const known = value_.load(std::memory_order_acquire)) {
            return known;
        }
        // Never dropped: it is needed until the interpreter ends.
        PyObject* const found = nanobind::object(nanobind::module_::import_(module_).attr(name_)).release().ptr();
        PyObject* expected = nullptr;
        if (!value_.compare_exchange_strong(expected, found)) {
            Py_DECREF(found);
            return expected;
        }
        return found;
    }

  private:
    const char* module_;
    const char* name_;
    std::atomic<PyObject*> value_{nullptr};
};

}  // namespace triton_inprocess
