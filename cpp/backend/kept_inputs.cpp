#include "backend/kept_inputs.h"

#include <Python.h>
#include <nanobind/nanobind.h>

#include <exception>

#include "bindings/cached_attribute.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute warn("triton_inprocess._kept_inputs", "warn");

}  // namespace

void warn_of_kept_inputs(const RequestBatch& batch) noexcept {
    if (!batch.inputs_kept() || !batch.function().ends_watch()) {
        return;
    }
    try {
        const nb::str name(batch.function().model_name().c_str());
        const nb::tuple arguments = nb::make_tuple(name);
        const NativeThreadObject told(call_on_native_thread(warn.get().ptr(), arguments.ptr(), nullptr));
        if (told.get() == nullptr) {
            report_on_native_thread(name.ptr());  // warnings are errors here
        }
    } catch (nb::python_error& error) {
        error.restore();
        report_on_native_thread(nullptr);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // Out of memory: the warning goes unsaid.
    }
}

}  // namespace triton_inprocess
