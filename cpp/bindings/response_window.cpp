#include "bindings/response_window.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/garbage_collection.h"
#include "bindings/gil.h"
#include "bindings/response_iterator.h"
#include "bindings/signal_interval.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

// A part of the window, so that Triton has still enough to do; and no longer than nobody minds.
constexpr std::size_t part = 4;
constexpr std::chrono::microseconds patience(200);

ResponseIterator& iterator_of(const HeldObject& object) {
    return *nb::inst_ptr<ResponseIterator>(object);
}

}  // namespace

void ResponseWindow::add(nb::object iterator) {
    auto& added = instance_argument<ResponseIterator>("iterator", "a ResponseIterator", iterator);
    waiting_.emplace_back(std::move(iterator));
    watch(added);
}

void ResponseWindow::watch(ResponseIterator& iterator) {
    const Ref<ResponseQueue>& queue = iterator.request().queue();
    if (!queue->watch(group_, &iterator)) {
        group_->notify(queue);
    }
}

nb::object ResponseWindow::poll() {
    return waiting_.empty() ? nb::object() : ordered_ ? poll_first() : poll_any();
}

nb::object ResponseWindow::take() {
    if (waiting_.empty()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "no request is in flight");
    }
    nb::object response = poll();
    if (response.is_valid()) {
        return response;
    }
    sleep_for_several();
    return ordered_ ? take_first() : take_any();
}

void ResponseWindow::sleep_for_several() {
    const std::size_t several = waiting_.size() / part;
    if (several > 1) {
        const ReleaseGil guard;
        group_->wait_for(several, patience);
    }
}

nb::object ResponseWindow::poll_first() {
    HeldObject first = take_out(waiting_.begin());
    nb::object response = iterator_of(first).poll();
    if (!response.is_valid()) {
        waiting_.push_front(std::move(first));
    }
    return response;
}

nb::object ResponseWindow::take_first() {
    group_->take();  // whoever is ready is seen when it is first
    const HeldObject first = take_out(waiting_.begin());
    return iterator_of(first).result();
}

nb::object ResponseWindow::poll_any() {
    for (Ref<ResponseQueue>& queue : group_->take()) {
        ready_.push_back(std::move(queue));
    }
    while (!ready_.empty()) {
        const Ref<ResponseQueue> queue = std::move(ready_.front());
        ready_.pop_front();
        const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const HeldObject& each) {
            return iterator_of(each).request().queue().get() == queue.get();
        });
        if (found == waiting_.end()) {
            continue;  // an earlier response of it was told of, too
        }
        const HeldObject iterator = take_out(found);
        nb::object response = iterator_of(iterator).poll();
        if (response.is_valid()) {
            return response;
        }
        add(iterator);  // the response is the one when the end has come, too
    }
    return {};
}

nb::object ResponseWindow::take_any() {
    while (true) {
        nb::object response = poll_any();
        if (response.is_valid()) {
            return response;
        }
        std::chrono::nanoseconds time = signal_interval;
        for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
            const Deadline& deadline = iterator_of(*each).request().deadline();
            if (deadline.passed()) {
                const HeldObject late = take_out(each);
                return iterator_of(late).result();  // which throws, unless the response has just come
            }
            time = deadline.exists() ? std::min<std::chrono::nanoseconds>(time, deadline.remaining()) : time;
        }
        {
            const ReleaseGil guard;
            group_->wait_for(1, time);
        }
        iterator_of(waiting_.front()).request().block()->server().require_own_process();
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
    }
}

HeldObject ResponseWindow::take_out(const std::deque<HeldObject>::iterator& place) {
    HeldObject iterator = std::move(*place);
    waiting_.erase(place);
    return iterator;
}

std::vector<PyObject*> ResponseWindow::held() const {
    std::vector<PyObject*> objects;
    objects.reserve(waiting_.size());
    for (const HeldObject& each : waiting_) {
        objects.push_back(each.ptr());
    }
    return objects;
}

void ResponseWindow::let_go() noexcept {
    const std::deque<HeldObject> dropped = std::move(waiting_);
    waiting_.clear();
}

void register_response_window(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<ResponseWindow>(module, "ResponseWindow", nb::type_slots(garbage_collection_slots<ResponseWindow>()),
                               "Requests in flight at once, for models that send one response.")
        .def(nb::init<bool>(), "ordered"_a)
        .def("add", &ResponseWindow::add, "iterator"_a, nb::sig("def add(self, iterator: ResponseIterator) -> None"),
             "Add a request.")
        .def("__len__", &ResponseWindow::size)
        .def(
            "poll",
            [](ResponseWindow& self) {
                nb::object response = self.poll();
                return response.is_valid() ? response : nb::none();
            },
            nb::sig("def poll(self) -> InferenceResponse | None"), "The next response if it has come.")
        .def("take", &ResponseWindow::take, nb::sig("def take(self) -> InferenceResponse"), "Wait for it.");
}

}  // namespace triton_inprocess
