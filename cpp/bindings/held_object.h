// A Python object that a bound object holds.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "bindings/gil.h"

namespace triton_inprocess {

/// A nanobind::object that may be dropped on one of Triton's threads, within whatever Python code runs there: see
/// `drop_on_native_thread`.
class HeldObject : public nanobind::object {
  public:
    HeldObject() noexcept = default;
    HeldObject(nanobind::object value) noexcept : nanobind::object(std::move(value)) {}  // NOLINT: as nanobind's own
    HeldObject(const HeldObject&) = default;
    HeldObject(HeldObject&&) noexcept = default;
    ~HeldObject() { reset(); }

    // NOLINTBEGIN(bugprone-derived-method-shadowing-base-method): that is the point, and nobody has it by its base.
    HeldObject& operator=(nanobind::object value) noexcept {
        PyObject* const former = release().ptr();
        static_cast<nanobind::object&>(*this) = std::move(value);
        drop_on_native_thread(former);
        return *this;
    }
    HeldObject& operator=(const HeldObject& other) noexcept { return *this = nanobind::object(other); }
    HeldObject& operator=(HeldObject&& other) noexcept { return *this = nanobind::object(std::move(other)); }

    void reset() noexcept { drop_on_native_thread(release().ptr()); }
    // NOLINTEND(bugprone-derived-method-shadowing-base-method)
};

}  // namespace triton_inprocess
