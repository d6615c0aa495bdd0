#include "tensor/deferred_release.h"

#include <atomic>

namespace triton_inprocess {
namespace {

std::atomic<void (*)()> ask_somebody{nullptr};

}  // namespace

int& DeferredRelease::depth() noexcept {
    thread_local int value = 0;
    return value;
}

void DeferredRelease::set_ask(void (*ask)()) noexcept {
    ask_somebody.store(ask);
}

void DeferredRelease::ask() noexcept {
    if (auto* const call = ask_somebody.load()) {
        call();
    }
}

}  // namespace triton_inprocess
