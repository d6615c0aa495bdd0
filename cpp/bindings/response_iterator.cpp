#include "bindings/response_iterator.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backend/self_wait.h"
#include "bindings/garbage_collection.h"
#include "bindings/gil.h"
#include "bindings/representation.h"
#include "bindings/signal_interval.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::chrono::nanoseconds wait_time(const Deadline& deadline) noexcept {
    const std::chrono::nanoseconds interval = signal_interval;
    return deadline.exists() ? std::min<std::chrono::nanoseconds>(interval, deadline.remaining()) : interval;
}

/// The end of an iteration, set as an error: a C++ exception would cost a microsecond for every request.
nb::object end() {
    PyErr_SetNone(PyExc_StopIteration);
    return {};
}

}  // namespace

std::unique_ptr<InferenceResponse> ResponseIterator::wait() {
    if (request_.finished()) {
        return nullptr;
    }
    const Ref<ResponseQueue> queue = request_.queue();
    std::unique_ptr<InferenceResponse> response = queue->pop();
    while (!response) {
        if (request_.deadline().passed()) {
            request_.expire();
        }
        {
            const auto time = wait_time(request_.deadline());
            const SelfWait waiting(*request_.block());
            const ReleaseGil guard;
            queue->wait_for(time);
        }
        response = queue->pop();
        if (!response && !request_.finished()) {
            request_.block()->server().require_own_process();
        }
        if (!response && PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
        if (!response && request_.finished()) {
            return nullptr;  // another thread has received the final response
        }
    }
    return response;
}

nb::object ResponseIterator::next() {
    if (one_ && !request_.finished()) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "the one response was asked for already: result() waits for it");
    }
    begun_ = begun_ || !request_.finished();
    std::unique_ptr<InferenceResponse> response = wait();
    return response ? request_.deliver(std::move(response)) : end();
}

OneResponse& ResponseIterator::one() {
    if (begun_) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "result() is for an iterator whose responses nobody has asked for yet");
    }
    if (request_.finished()) {
        if (one_) {
            throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "the one response was handed out already");
        }
        throw Error(TRITONSERVER_ERROR_CANCELLED, "the iterator was closed");
    }
    if (!one_) {
        one_.emplace();
    }
    return *one_;
}

nb::object ResponseIterator::result() {
    OneResponse& one = this->one();
    while (std::unique_ptr<InferenceResponse> response = wait()) {
        if (std::unique_ptr<InferenceResponse> result = add(one, std::move(response))) {
            return request_.deliver(std::move(result));
        }
    }
    throw Error(TRITONSERVER_ERROR_CANCELLED, "the iterator was closed");
}

nb::object ResponseIterator::poll() {
    OneResponse& one = this->one();
    while (std::unique_ptr<InferenceResponse> response = request_.queue()->pop()) {
        if (std::unique_ptr<InferenceResponse> result = add(one, std::move(response))) {
            return request_.deliver(std::move(result));
        }
    }
    if (request_.deadline().passed()) {
        request_.expire();
    }
    return {};
}

std::unique_ptr<InferenceResponse> ResponseIterator::add(OneResponse& one,
                                                         std::unique_ptr<InferenceResponse> response) {
    try {
        return one.add(std::move(response));
    } catch (const Error&) {
        request_.abandon();
        throw;
    }
}

void register_response_iterator(nb::module_& module) {
    nb::class_<ResponseIterator>(module, "ResponseIterator",
                                 nb::type_slots(garbage_collection_slots<ResponseIterator>()),
                                 "The responses to one request, in their order. Waiting releases the GIL and can be "
                                 "interrupted by Ctrl-C.")
        .def(
            "__iter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __iter__(self) -> ResponseIterator"))
        .def("__next__", &ResponseIterator::next, nb::sig("def __next__(self) -> InferenceResponse"),
             "The next response. Raises its error as a TritonError, unless raise_on_error=False was given.")
        .def(
            "result", &ResponseIterator::result, nb::sig("def result(self) -> InferenceResponse"),
            "Wait for the response of a model that sends one.\n\n"
            "Raises its error as a TritonError, unless raise_on_error=False was given; UnsupportedError when the model "
            "sends several or none, or after the iteration has begun; TimeoutError at the deadline.")
        .def("__repr__", [](const ResponseIterator& self) { return represent("ResponseIterator", self.request()); })
        .def("cancel", &ResponseIterator::cancel,
             "Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a "
             "final response. Raises UnsupportedError before C API 1.25.")
        .def(
            "close", &ResponseIterator::close,
            "End the iteration: the request is cancelled, as it is when the iterator is dropped before its end. Before "
            "C API 1.25 it goes on, and nobody hears of it.")
        .def(
            "__enter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __enter__(self) -> ResponseIterator"))
        .def(
            "__exit__", [](ResponseIterator& self, const nb::args& /*exception*/) { self.close(); },
            nb::sig("def __exit__(self, *exception: object) -> None"), "Close it.");
}

}  // namespace triton_inprocess
