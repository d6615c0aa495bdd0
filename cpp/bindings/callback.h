// Calling a user's Python function from a callback of Triton's.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/callback_scope.h"
#include "bindings/gil.h"
#include "bindings/held_object.h"

namespace triton_inprocess {

/// Everything that a callback of Triton's needs to run Python: the GIL, and the mark that it is one.
class CallbackGil {
  public:
    CallbackGil() noexcept { drop_deferred(); }

  private:
    CallbackScope scope_;
    AnyThreadGil gil_;
};

/// Calls the function; null with an exception set when it raised one, or when making an argument did.
template <typename... Arguments>
HeldObject call_back(nanobind::handle function, Arguments&&... arguments) noexcept {
    try {
        const NativeThreadObject packed(nanobind::make_tuple(std::forward<Arguments>(arguments)...).release().ptr());
        return nanobind::steal(call_on_native_thread(function.ptr(), packed.get(), nullptr));
    } catch (nanobind::python_error& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return HeldObject();
}

/// For a callback whose exceptions nobody can receive: they go to sys.unraisablehook.
template <typename... Arguments>
void call_back_and_report(nanobind::handle function, Arguments&&... arguments) noexcept {
    if (!call_back(function, std::forward<Arguments>(arguments)...).is_valid()) {
        report_on_native_thread(function.ptr());
    }
}

}  // namespace triton_inprocess
