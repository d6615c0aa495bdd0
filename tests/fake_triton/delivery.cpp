#include "delivery.h"

namespace fake_triton {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

DeliverySettings& DeliverySettings::instance() {
    static auto* const settings = new DeliverySettings;
    return *settings;
}

Delivery DeliverySettings::current() const noexcept {
    return {delay_milliseconds.load(relaxed),
            linger_milliseconds.load(relaxed),
            order.load(relaxed),
            drop.load(relaxed),
            on_own_threads.load(relaxed),
            reschedule.load(relaxed),
            child_traces_last.load(relaxed)};
}

void DeliverySettings::reset() noexcept {
    delay_milliseconds.store(0, relaxed);
    linger_milliseconds.store(0, relaxed);
    order.store(FAKE_TRITON_RESPONSE_FIRST, relaxed);
    drop.store(0, relaxed);
    on_own_threads.store(false, relaxed);
    reschedule.store(false, relaxed);
    child_traces_last.store(false, relaxed);
    enqueueing_failures.store(0, relaxed);
}

bool DeliverySettings::take_enqueueing_failure() noexcept {
    std::uint64_t left = enqueueing_failures.load(relaxed);
    while (left != 0 && !enqueueing_failures.compare_exchange_weak(left, left - 1, relaxed)) {
    }
    return left != 0;
}

}  // namespace fake_triton
