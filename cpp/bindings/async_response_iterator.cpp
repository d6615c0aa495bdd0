#include "bindings/async_response_iterator.h"

#include <chrono>

#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
#include "bindings/errors.h"
#include "bindings/event_loop_hub.h"
#include "bindings/garbage_collection.h"
#include "bindings/representation.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute running_loop_function("triton_inprocess._event_loop", "running");
CachedAttribute future_class("triton_inprocess._event_loop", "ResponseFuture");
CachedAttribute expire_function("triton_inprocess._event_loop", "expire_after");

/// (loop, hub) of the running event loop.
nb::tuple running_loop() {
    return nb::borrow<nb::tuple>(running_loop_function.get()());
}

/// `self` of a slot, which is called with any object.
AsyncResponseIterator& iterator_of(nb::handle self) {
    return instance_argument<AsyncResponseIterator>("self", "an AsyncResponseIterator", self);
}

}  // namespace

nb::object AsyncResponseIterator::next(nb::handle self) {
    if (request_.finished()) {
        // Set as an error: a C++ exception would cost a microsecond for every request.
        PyErr_SetNone(PyExc_StopAsyncIteration);
        return {};
    }
    return wait(self);
}

nb::object AsyncResponseIterator::result(nb::handle self) {
    if (begun_) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "only an iterator whose responses nobody has asked for yet can be awaited for the one");
    }
    if (request_.finished()) {
        throw Error(TRITONSERVER_ERROR_CANCELLED, "the iterator was closed");
    }
    one_.emplace();
    return wait(self);
}

nb::object AsyncResponseIterator::wait(nb::handle self) {
    if (future_.is_valid() && !nb::cast<bool>(future_.attr("done")())) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "another coroutine is waiting for the next response already");
    }
    const nb::tuple loop_and_hub = running_loop();
    const nb::object loop = loop_and_hub[0];
    const nb::object hub_object = loop_and_hub[1];
    const nb::object future = future_class.get()(nb::arg("loop") = loop);
    future.attr("iterator") = self;
    stop_waiting();
    begun_ = true;
    future_ = future;
    hub_ = hub_object;
    auto& hub = nb::cast<EventLoopHub&>(hub_object);
    while (!hub.wait_for(*this)) {
        if (complete()) {
            return future;
        }
    }
    if (request_.deadline().exists()) {
        const std::chrono::duration<double> remaining = request_.deadline().remaining();
        expire_function.get()(loop, future, remaining.count());
    }
    return future;
}

void AsyncResponseIterator::stop_waiting() noexcept {
    if (hub_.is_valid()) {
        const nb::object hub = std::move(hub_);
        nb::cast<EventLoopHub&>(hub).forget(*this);
    }
}

template <typename Result>
void AsyncResponseIterator::settle(const nb::object& future, Result result) {
    try {
        future.attr("set_result")(result());
    } catch (const Error& error) {
        future.attr("set_exception")(to_exception(error));
    }
}

bool AsyncResponseIterator::complete() noexcept {
    const nb::object future = std::move(future_);  // which holds this object, too
    try {
        if (!future.is_valid() || nb::cast<bool>(future.attr("done")())) {
            hub_.reset();
            return true;
        }
        std::unique_ptr<InferenceResponse> response = request_.queue()->pop();
        if (response && one_) {
            try {
                response = one_->add(std::move(response));
            } catch (const Error& error) {
                request_.abandon();
                hub_.reset();
                future.attr("set_exception")(to_exception(error));
                return true;
            }
        }
        if (!response) {
            future_ = future;
            return false;
        }
        hub_.reset();
        settle(future, [&] { return request_.deliver(std::move(response)); });
    } catch (nb::python_error& error) {
        // Nobody else can be told: the future is what would tell.
        error.discard_as_unraisable("completing the future of a response");
    }
    return true;
}

void AsyncResponseIterator::close() {
    const nb::object future = std::move(future_);
    stop_waiting();
    request_.abandon();
    if (future.is_valid() && !nb::cast<bool>(future.attr("done")())) {
        settle(future, []() -> nb::object { throw Error(TRITONSERVER_ERROR_CANCELLED, "the iterator was closed"); });
    }
}

void AsyncResponseIterator::forget() noexcept {
    const nb::object future = std::move(future_);
    stop_waiting();
    if (one_) {
        request_.abandon();
    }
}

void AsyncResponseIterator::expire() {
    const nb::object future = future_;
    if (request_.finished() || !future.is_valid() || nb::cast<bool>(future.attr("done")())) {
        return;
    }
    future_.reset();
    stop_waiting();
    try {
        request_.expire();
    } catch (nb::python_error& error) {
        future.attr("set_exception")(error.value());
    }
}

void AsyncResponseIterator::let_go() noexcept {
    stop_waiting();
    future_.reset();
    request_.drop_model();
}

void register_async_response_iterator(nb::module_& module) {
    nb::class_<AsyncResponseIterator>(module, "AsyncResponseIterator",
                                      nb::type_slots(garbage_collection_slots<AsyncResponseIterator>()),
                                      "The responses to one request, in their order, for `async for`; awaited, the "
                                      "response of a model that sends one.")
        .def(
            "__aiter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __aiter__(self) -> AsyncResponseIterator"))
        .def(
            "__anext__", [](nb::handle self) { return iterator_of(self).next(self); },
            nb::sig("def __anext__(self) -> asyncio.Future[InferenceResponse]"),
            "A future for the next response. It raises the response's error as a TritonError, unless "
            "raise_on_error=False was given, and TimeoutError at the deadline.")
        .def(
            "__await__",
            [](nb::handle self) -> nb::object { return iterator_of(self).result(self).attr("__await__")(); },
            nb::sig("def __await__(self) -> collections.abc.Generator[typing.Any, None, InferenceResponse]"),
            "Wait for the response of a model that sends one. Raises UnsupportedError when it sends several or none, "
            "or "
            "after the iteration has begun; else as `__anext__`.")
        .def("__repr__",
             [](const AsyncResponseIterator& self) { return represent("AsyncResponseIterator", self.request()); })
        .def("cancel", &AsyncResponseIterator::cancel,
             "Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a "
             "final response. Raises UnsupportedError before C API 1.25.")
        .def(
            "close", &AsyncResponseIterator::close,
            "End the iteration: the request is cancelled, as it is when the iterator is dropped before its end, or the "
            "task that waits for it is cancelled. Before C API 1.25 it goes on, and nobody hears of it.")
        .def("forget", &AsyncResponseIterator::forget, "Called when the future is cancelled that was waited for.")
        .def("expire", &AsyncResponseIterator::expire, "Called at the deadline: whoever waits gets a TimeoutError.");
}

}  // namespace triton_inprocess
