#include "bindings/event_loop_hub.h"

#include <array>
#include <cstdint>
#include <vector>

#include "bindings/cached_attribute.h"
#include "bindings/gil.h"
#include "bindings/response_wait.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute get_running_loop("asyncio", "get_running_loop");
CachedAttribute hub_of_loop("triton_inprocess._event_loop", "hub_of");

/// The hubs that were asked for last, by the addresses of their loops; each takes itself away when it goes.
std::array<EventLoopHub*, 16> recent = {};

EventLoopHub*& recent_place(PyObject* loop) noexcept {
    return recent[(reinterpret_cast<std::uintptr_t>(loop) >> 6) % recent.size()];
}

nb::object weak_reference(nb::handle object) {
    nb::object reference = nb::steal(PyWeakref_NewRef(object.ptr(), nullptr));
    if (!reference.is_valid()) {
        throw nb::python_error();
    }
    return reference;
}

}  // namespace

EventLoopHub::EventLoopHub(nb::handle loop) : loop_address_(loop.ptr()), loop_(weak_reference(loop)) {}

EventLoopHub::~EventLoopHub() {
    EventLoopHub*& place = recent_place(loop_address_);
    if (place == this) {
        place = nullptr;
    }
}

bool EventLoopHub::serves(nb::handle loop) const {
    // Another loop can have come to live where a dead one was.
    return loop.ptr() == loop_address_ && loop_().is(loop);
}

void EventLoopHub::drain() {
    const std::vector<Ref<ResponseQueue>> ready = hub_->take();
    for (auto queue = ready.begin(); queue != ready.end(); ++queue) {
        // Null when nobody waits any more. The response may have been fetched meanwhile: then its waiter is woken for
        // nothing, unless he waits in another loop.
        auto* const wait = static_cast<ResponseWait*>((*queue)->waiter());
        if (wait == nullptr || !wait->waits_with(*this)) {
            continue;
        }
        try {
            wait->wake();
        } catch (nb::python_error&) {
            // A task lets what ends the loop pass, such as KeyboardInterrupt; the others are served when it goes on.
            for (++queue; queue != ready.end(); ++queue) {
                hub_->notify(*queue);
            }
            throw;
        }
    }
    drop_deferred();
}

std::pair<nb::object, nb::object> running_loop_and_hub() {
    nb::object loop = get_running_loop.get()();
    EventLoopHub*& place = recent_place(loop.ptr());
    if (place != nullptr && place->serves(loop)) {
        return {std::move(loop), nb::find(*place)};
    }
    nb::object hub = hub_of_loop.get()(loop);
    recent_place(loop.ptr()) = &nb::cast<EventLoopHub&>(hub);
    return {std::move(loop), std::move(hub)};
}

void register_event_loop_hub(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<EventLoopHub>(module, "EventLoopHub", nb::is_weak_referenceable(),
                             "Wakes one event loop through one file descriptor.")
        .def(nb::init<nb::handle>(), "loop"_a, nb::sig("def __init__(self, loop: asyncio.AbstractEventLoop) -> None"))
        .def("fileno", &EventLoopHub::fileno)
        .def("drain", &EventLoopHub::drain);
}

}  // namespace triton_inprocess
