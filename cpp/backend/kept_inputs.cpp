#include "backend/kept_inputs.h"

#include <Python.h>
#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <thread>

#include "bindings/cached_attribute.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute warn("triton_inprocess._kept_inputs", "warn");

/// Whether they still are after a while: a request that the function made with one of them lets go of it a moment after
/// it was answered. Such a function loses that moment; one that keeps inputs loses the while, once.
bool kept_for_good(const RequestBatch& batch) noexcept {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::milliseconds(100);
    while (batch.inputs_kept()) {
        if (Clock::now() >= deadline) {
            return true;
        }
        {
            const ReleaseGil released;
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
        drop_deferred();
    }
    return false;
}

}  // namespace

void warn_of_kept_inputs(const RequestBatch& batch) noexcept {
    if (!kept_for_good(batch) || !batch.function().ends_watch()) {
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
