// Waiting awake for what comes within microseconds: to fall asleep and be woken takes longer than that.
#pragma once

#include <chrono>

namespace triton_inprocess {

/// One for each thread that waits. It learns: it tries only where the last waits were short, and ever more seldom where
/// it tried in vain, as it does where the thread that would answer has no core of its own.
class AdaptiveSpin {
  public:
    using Clock = std::chrono::steady_clock;

    /// Waits awake until `arrived`, if that seems worth it. False when it has to be slept for.
    template <typename Condition>
    bool until(const Condition& arrived) noexcept {
        if (!worth_trying()) {
            return false;
        }
        const Clock::time_point start = Clock::now();
        const Clock::time_point end = start + longest;
        do {
            for (int i = 0; i < looks_per_clock; ++i) {
                if (arrived()) {
                    succeeded(Clock::now() - start);
                    return true;
                }
                pause();
            }
        } while (Clock::now() < end);
        failed();
        return false;
    }

    /// A wait that was slept took so long.
    void slept(Clock::duration time) noexcept;

  private:
    static constexpr std::chrono::microseconds longest{50};
    static constexpr int looks_per_clock = 16;

    static void pause() noexcept;
    bool worth_trying() noexcept;
    void succeeded(Clock::duration time) noexcept;
    void failed() noexcept;
    void learn(Clock::duration time) noexcept;

    Clock::duration usual_{};
    unsigned failures_ = 0;
    unsigned skip_ = 0;  ///< So many waits are slept before the next try.
};

}  // namespace triton_inprocess
