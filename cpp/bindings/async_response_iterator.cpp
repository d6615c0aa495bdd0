#include "bindings/async_response_iterator.h"

#include "bindings/arguments.h"
#include "bindings/garbage_collection.h"
#include "bindings/representation.h"
#include "bindings/response_wait.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

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
    nb::object wait = make_response_wait(self);
    begun_ = true;
    return wait;
}

nb::object AsyncResponseIterator::result(nb::handle self) {
    if (begun_) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "only an iterator whose responses nobody has asked for yet can be awaited for the one");
    }
    if (request_.finished()) {
        throw Error(TRITONSERVER_ERROR_CANCELLED, "the iterator was closed");
    }
    nb::object wait = make_response_wait(self);
    begun_ = true;
    if (!one_) {
        one_.emplace();
    }
    return wait;
}

nb::object AsyncResponseIterator::poll() {
    if (begun_ || request_.finished()) {
        return {};  // awaiting it says what is wrong
    }
    if (!one_) {
        one_.emplace();
    }
    std::unique_ptr<InferenceResponse> response = take(false);
    if (!response) {
        return {};
    }
    begun_ = true;
    return deliver(std::move(response));
}

void AsyncResponseIterator::require_no_wait() const {
    if (waiting_ != nullptr) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "another coroutine is waiting for the next response already");
    }
}

void AsyncResponseIterator::begin_wait(ResponseWait& wait) {
    require_no_wait();
    if (queue()->bounded()) {
        reader_task_.watch(queue());
    }
    waiting_ = &wait;
}

void AsyncResponseIterator::end_wait(const ResponseWait& wait) noexcept {
    if (waiting_ == &wait) {
        waiting_ = nullptr;
    }
}

std::unique_ptr<InferenceResponse> AsyncResponseIterator::take(bool waited) {
    if (request_.finished()) {
        if (waited || one_) {
            throw Error(TRITONSERVER_ERROR_CANCELLED, "the iterator was closed");
        }
        PyErr_SetNone(PyExc_StopAsyncIteration);
        throw nb::python_error();
    }
    while (std::unique_ptr<InferenceResponse> response = queue()->pop()) {
        if (!one_) {
            return response;
        }
        try {
            if (std::unique_ptr<InferenceResponse> one = one_->add(std::move(response))) {
                return one;
            }
        } catch (const Error&) {
            request_.abandon();
            throw;
        }
    }
    if (request_.deadline().passed()) {
        request_.expire();
    }
    return nullptr;
}

void AsyncResponseIterator::close() {
    request_.abandon();
    if (waiting_ != nullptr) {
        waiting_->wake_soon();
    }
}

void AsyncResponseIterator::forget() noexcept {
    if (one_) {
        request_.abandon();
    } else {
        request_.queue()->relax();
    }
}

void register_async_response_iterator(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<AsyncResponseIterator>(module, "AsyncResponseIterator",
                                      nb::type_slots(garbage_collection_slots<AsyncResponseIterator>()),
                                      "The responses to one request, in their order, for `async for`; awaited, the "
                                      "response of a model that sends one.")
        .def(
            "__aiter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __aiter__(self) -> AsyncResponseIterator"))
        .def(
            "__anext__", [](nb::handle self) { return iterator_of(self).next(self); },
            nb::sig("def __anext__(self) -> collections.abc.Awaitable[InferenceResponse]"),
            "An awaitable for the next response. It raises the response's error as a TritonError, unless "
            "raise_on_error=False was given, and TimeoutError at the deadline.")
        .def(
            "__await__", [](nb::handle self) { return iterator_of(self).result(self); },
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
            "task that waits for it is cancelled. Before C API 1.25 it goes on, and nobody hears of it.");
    module.def(
        "poll",
        [](nb::handle iterator) {
            nb::object response = iterator_of(iterator).poll();
            return response.is_valid() ? response : nb::none();
        },
        "iterator"_a, nb::sig("def poll(iterator: AsyncResponseIterator) -> InferenceResponse | None"),
        "What awaiting the iterator would return at once, if it would.");
}

}  // namespace triton_inprocess
