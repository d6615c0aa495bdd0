#include "bindings/event_loop_hub.h"

#include "bindings/async_response_iterator.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {

void EventLoopHub::drain() {
    for (const Ref<ResponseQueue>& queue : hub_->take()) {
        auto* const iterator = static_cast<AsyncResponseIterator*>(queue->waiter());
        if (waiting_.erase(iterator) != 0) {
            // A queue can be reported after its response was fetched in another way: then the wait goes on.
            while (!iterator->complete() && !wait_for(*iterator)) {
            }
        }
    }
    drop_deferred();
}

bool EventLoopHub::wait_for(AsyncResponseIterator& iterator) {
    waiting_.insert(&iterator);
    if (iterator.queue()->watch(hub_, &iterator)) {
        return true;
    }
    waiting_.erase(&iterator);
    return false;
}

void EventLoopHub::forget(AsyncResponseIterator& iterator) noexcept {
    iterator.queue()->unwatch();
    waiting_.erase(&iterator);
}

void register_event_loop_hub(nb::module_& module) {
    nb::class_<EventLoopHub>(module, "EventLoopHub", nb::is_weak_referenceable(),
                             "Wakes one event loop through one file descriptor.")
        .def(nb::init<>())
        .def("fileno", &EventLoopHub::fileno)
        .def("drain", &EventLoopHub::drain);
}

}  // namespace triton_inprocess
