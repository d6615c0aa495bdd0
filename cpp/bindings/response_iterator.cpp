#include "bindings/response_iterator.h"

#include <chrono>

#include "bindings/garbage_collection.h"
#include "bindings/gil.h"
#include "bindings/representation.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

// How long a signal such as Ctrl-C can go unanswered.
constexpr std::chrono::milliseconds signal_interval(50);

/// The end of an iteration, set as an error: a C++ exception would cost a microsecond for every request.
nb::object end() {
    PyErr_SetNone(PyExc_StopIteration);
    return {};
}

}  // namespace

nb::object ResponseIterator::next() {
    if (request_.finished()) {
        return end();
    }
    const Ref<ResponseQueue> queue = request_.queue();
    std::unique_ptr<InferenceResponse> response = queue->pop();
    while (!response) {
        {
            const ReleaseGil guard;
            queue->wait_for(signal_interval);
        }
        response = queue->pop();
        if (!response && !request_.finished()) {
            request_.block()->server().require_own_process();
        }
        if (!response && PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
        if (!response && request_.finished()) {
            return end();  // another thread has received the final response
        }
    }
    return request_.deliver(std::move(response));
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
        .def("__repr__", [](const ResponseIterator& self) { return represent("ResponseIterator", self.request()); })
        .def("cancel", &ResponseIterator::cancel,
             "Ask Triton to cancel the request (TRITONSERVER_InferenceRequestCancel). The iterator still ends with a "
             "final "
             "response. Raises UnsupportedError before C API 1.25.");
}

}  // namespace triton_inprocess
