#include "bindings/deferred_signals.h"

#include <array>
#include <atomic>

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::array<std::atomic<bool>, NSIG> came{};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use nothing else");

void note(int number) noexcept {
    came[static_cast<std::size_t>(number)].store(true);
}

bool is_handled_by_python(nb::handle getsignal, int number) noexcept {
    const nb::object handler = nb::steal(PyObject_CallFunction(getsignal.ptr(), "i", number));
    if (!handler.is_valid()) {
        PyErr_Clear();  // there is no such signal
        return false;
    }
    return PyCallable_Check(handler.ptr()) != 0;
}

}  // namespace

DeferredSignals::DeferredSignals(nb::handle getsignal) {
    former_.reserve(came.size());
    for (int number = 1; number < NSIG; ++number) {
        if (is_handled_by_python(getsignal, number)) {
            struct sigaction noting = {};
            noting.sa_handler = &note;
            noting.sa_flags = SA_RESTART | SA_ONSTACK;
            Former former = {number, {}};
            if (sigaction(number, &noting, &former.action) == 0) {
                former_.push_back(former);
            }
        }
    }
}

DeferredSignals::~DeferredSignals() {
    for (const Former& former : former_) {
        sigaction(former.number, &former.action, nullptr);
        if (came[static_cast<std::size_t>(former.number)].exchange(false)) {
            std::raise(former.number);
        }
    }
}

}  // namespace triton_inprocess
