#include "core/adaptive_spin.h"

#include <algorithm>

namespace triton_inprocess {
namespace {

constexpr unsigned most_failures = 10;  // and then one try in 1024 waits

}  // namespace

void AdaptiveSpin::pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

bool AdaptiveSpin::worth_trying() noexcept {
    if (skip_ > 0) {
        --skip_;
        return false;
    }
    return usual_ < longest;
}

void AdaptiveSpin::succeeded(Clock::duration time) noexcept {
    failures_ = 0;
    learn(time);
}

void AdaptiveSpin::failed() noexcept {
    failures_ = std::min(failures_ + 1, most_failures);
    skip_ = 1U << failures_;
}

void AdaptiveSpin::slept(Clock::duration time) noexcept {
    learn(time);
}

void AdaptiveSpin::learn(Clock::duration time) noexcept {
    usual_ += (time - usual_) / 8;
}

}  // namespace triton_inprocess
