#include "bindings/event_loop_hub.h"

#include <utility>

#include "bindings/async_response_iterator.h"
#include "bindings/garbage_collection.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {
void EventLoopHub::drain() {
    for (const Ref<ResponseQueue>& queue : hub_->take()) {
        auto found = waiting_.find(static_cast<AsyncResponseIterator*>(queue->waiter()));
        if (found != waiting_.end()) {
            AsyncResponseIterator* const iterator = found->first;
            nb::object self = std::move(found->second);
            waiting_.erase(found);
            // A queue can be reported after its response was fetched in another way: then the wait goes on.
            while (!iterator->complete() && !wait_for(*iterator, self)) {
            }
        }
    }
    drop_deferred();
}

bool EventLoopHub::wait_for(AsyncResponseIterator& iterator, nb::object self) {
    waiting_.insert_or_assign(&iterator, std::move(self));
    if (iterator.queue()->watch(hub_, &iterator)) {
        return true;
    }
    waiting_.erase(&iterator);
    return false;
}

void register_event_loop_hub(nb::module_& module) {
    nb::class_<EventLoopHub>(module, "EventLoopHub", nb::is_weak_referenceable(),
                             nb::type_slots(garbage_collection_slots<EventLoopHub>()),
                             "Wakes one event loop through one file descriptor.")
        .def(nb::init<>())
        .def("fileno", &EventLoopHub::fileno)
        .def("drain", &EventLoopHub::drain);
}

}  // namespace triton_inprocess
