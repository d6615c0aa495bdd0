// How the callbacks of requests come, as a test has said.
#pragma once

#include <atomic>
#include <cstdint>

#include "control.h"

namespace fake_triton {

/// What holds for one request: taken when it is submitted.
struct Delivery {
    std::uint32_t delay_milliseconds = 0;
    std::uint32_t linger_milliseconds = 0;
    std::int32_t order = FAKE_TRITON_RESPONSE_FIRST;
    std::uint32_t drop = 0;
    bool on_own_threads = false;
    bool reschedule = false;
    bool child_traces_last = false;
};

/// What holds for the requests to come. Relaxed atomics: a lock would order the threads of the test among each other.
struct DeliverySettings {
    static DeliverySettings& instance();

    Delivery current() const noexcept;
    void reset() noexcept;

    /// Whether the submission under way is one of those that are to fail while they are enqueued.
    bool take_enqueueing_failure() noexcept;

    std::atomic<std::uint32_t> delay_milliseconds{0};
    std::atomic<std::uint32_t> linger_milliseconds{0};
    std::atomic<std::int32_t> order{FAKE_TRITON_RESPONSE_FIRST};
    std::atomic<std::uint32_t> drop{0};
    std::atomic<bool> on_own_threads{false};
    std::atomic<bool> reschedule{false};
    std::atomic<bool> child_traces_last{false};
    std::atomic<std::uint64_t> enqueueing_failures{0};
};

}  // namespace fake_triton
