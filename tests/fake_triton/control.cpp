#include "control.h"

#include "api_version.h"
#include "delivery.h"
#include "dropped.h"
#include "faults.h"
#include "registry.h"

using fake_triton::ApiVersion;
using fake_triton::DeliverySettings;
using fake_triton::Dropped;
using fake_triton::Faults;
using fake_triton::Registry;

bool fake_triton_fail(const char* function, std::uint64_t first, std::uint64_t count, std::int32_t code,
                      const char* message) {
    return Faults::instance().plan(function, first, count, static_cast<TRITONSERVER_Error_Code>(code), message);
}

void fake_triton_fail_enqueueing(std::uint64_t count) {
    DeliverySettings::instance().enqueueing_failures = count;
}

void fake_triton_delay(std::uint32_t milliseconds) {
    DeliverySettings::instance().delay_milliseconds = milliseconds;
}

void fake_triton_linger(std::uint32_t milliseconds) {
    DeliverySettings::instance().linger_milliseconds = milliseconds;
}

void fake_triton_order(std::int32_t order) {
    DeliverySettings::instance().order = order;
}

void fake_triton_respond_on_own_threads(bool enable) {
    DeliverySettings::instance().on_own_threads = enable;
}

void fake_triton_drop(std::uint32_t what) {
    DeliverySettings::instance().drop = what;
}

std::uint64_t fake_triton_deliver_dropped() {
    return Dropped::instance().deliver();
}

void fake_triton_reschedule(bool enable) {
    DeliverySettings::instance().reschedule = enable;
}

void fake_triton_release_child_traces_last(bool enable) {
    DeliverySettings::instance().child_traces_last = enable;
}

void fake_triton_set_api_version(std::uint32_t major, std::uint32_t minor) {
    ApiVersion::set({major, minor});
}

std::uint64_t fake_triton_live(const char* type) {
    return Registry::instance().count(type);
}

std::int64_t fake_triton_calls(const char* function) {
    return Faults::instance().calls(function);
}

void fake_triton_reset() {
    Faults::instance().reset();
    DeliverySettings::instance().reset();
    ApiVersion::set({});
}
