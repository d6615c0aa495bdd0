#include "bindings/async_response_iterator.h"

#include "bindings/cached_attribute.h"
#include "bindings/errors.h"
#include "bindings/event_loop_hub.h"
#include "bindings/garbage_collection.h"
#include "bindings/representation.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute running_loop_function("triton_inprocess._event_loop", "running");

/// (loop, hub) of the running event loop.
nb::tuple running_loop() {
    return nb::borrow<nb::tuple>(running_loop_function.get()());
}

}  // namespace

nb::object AsyncResponseIterator::next(nb::object self) {
    if (request_.finished()) {
        // Set as an error: a C++ exception would cost a microsecond for every request.
        PyErr_SetNone(PyExc_StopAsyncIteration);
        return {};
    }
    if (future_.is_valid() && !nb::cast<bool>(future_.attr("done")())) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "another coroutine is waiting for the next response already");
    }
    const nb::tuple loop_and_hub = running_loop();
    const nb::object future = nb::object(loop_and_hub[0]).attr("create_future")();
    future_ = future;
    if (!nb::cast<EventLoopHub&>(loop_and_hub[1]).wait_for(*this, std::move(self))) {
        complete();
    }
    return future;
}

bool AsyncResponseIterator::complete() noexcept {
    const nb::object future = std::move(future_);
    try {
        if (!future.is_valid() || nb::cast<bool>(future.attr("done")())) {
            return true;
        }
        std::unique_ptr<InferenceResponse> response = request_.queue()->pop();
        if (!response) {
            future_ = future;
            return false;
        }
        try {
            future.attr("set_result")(request_.deliver(std::move(response)));
        } catch (const Error& error) {
            future.attr("set_exception")(to_exception(error));
        }
    } catch (nb::python_error& error) {
        // Nobody else can be told: the future is what would tell.
        error.discard_as_unraisable("completing the future of a response");
    }
    return true;
}

void AsyncResponseIterator::let_go() noexcept {
    future_.reset();
    request_.drop_model();
}

void register_async_response_iterator(nb::module_& module) {
    nb::class_<AsyncResponseIterator>(module, "AsyncResponseIterator",
                                      nb::type_slots(garbage_collection_slots<AsyncResponseIterator>()),
                                      "The responses to one request, in their order, for `async for`.")
        .def(
            "__aiter__", [](nb::handle self) { return nb::borrow(self); },
            nb::sig("def __aiter__(self) -> AsyncResponseIterator"))
        .def(
            "__anext__", [](nb::handle self) { return nb::cast<AsyncResponseIterator&>(self).next(nb::borrow(self)); },
            nb::sig("def __anext__(self) -> asyncio.Future[InferenceResponse]"),
            "A future for the next response. It raises the response's error as a TritonError, unless "
            "raise_on_error=False "
            "was given.")
        .def("__repr__",
             [](const AsyncResponseIterator& self) { return represent("AsyncResponseIterator", self.request()); })
        .def("cancel", &AsyncResponseIterator::cancel,
             "Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a "
             "final "
             "response. Raises UnsupportedError before C API 1.25.");
}

}  // namespace triton_inprocess
