#include "bindings/infer.h"

#include <nanobind/stl/pair.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/async_response_iterator.h"
#include "bindings/deadline.h"
#include "bindings/gil.h"
#include "bindings/model_handle.h"
#include "bindings/pending_request.h"
#include "bindings/request_fields.h"
#include "bindings/request_inputs.h"
#include "bindings/request_outputs.h"
#include "bindings/response_iterator.h"
#include "core/inference_request.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

constexpr const char* inputs_field = "inputs";

/// What every function below is given.
struct Call {
    ModelHandle& handle;
    nb::object model;
    bool raise_on_error;
    nb::handle inputs;  ///< None: they are in the fields, or there are none.
    const nb::dict& fields;
};

nb::object inputs_of(const Call& call) {
    if (!call.inputs.is_none()) {
        return nb::borrow(call.inputs);
    }
    PyObject* const inputs = PyDict_GetItemString(call.fields.ptr(), inputs_field);
    return nb::borrow(nb::handle(inputs));
}

/// The value of max_pending_responses; 0 for None.
std::size_t pending_limit(nb::handle value) {
    if (value.is_none()) {
        return 0;
    }
    const std::uint64_t limit =
        unsigned_argument("max_pending_responses", value, std::numeric_limits<std::uint32_t>::max());
    if (limit == 0) {
        throw nb::value_error("max_pending_responses must be at least 1, or None, not 0");
    }
    return limit;
}

/// Sends a request; with `second`, every response goes to that queue, too.
PendingRequest submit(const Call& call, Ref<ResponseQueue> second = nullptr) {
    drop_deferred();
    ModelHandle& handle = call.handle;
    handle.server()->require_accepting();
    const ModelSignature::Tensors inputs = checked_inputs(inputs_of(call), handle);
    InferenceRequest request(handle.server(), handle.name(), handle.version(), RequestBlock::Use::once);
    for (const auto& [name, tensor] : inputs) {
        request.add_input(name, tensor);
    }
    Deadline deadline;
    nb::object outputs;
    nb::object output_place;
    nb::object output_allocator;
    std::size_t limit = 0;
    for (const auto [name, value] : call.fields) {
        const std::string field = text_argument("the name of a request field", name);
        if (field == "deadline") {
            deadline = Deadline::of(value);
        } else if (field == "outputs") {
            outputs = nb::borrow(value);
        } else if (field == "output_memory_type") {
            output_place = nb::borrow(value);
        } else if (field == "output_memory_allocator") {
            output_allocator = nb::borrow(value);
        } else if (field == "max_pending_responses") {
            limit = pending_limit(value);
        } else if (field != inputs_field) {
            set_field(request, field, value);
        }
    }
    Ref<ResponseQueue> queue = limit != 0 ? make_ref<ResponseQueue>(ResponseQueue::Bound{limit, deadline.end()})
                                          : make_ref<ResponseQueue>(std::move(second));
    Ref<RequestOutputs> placed = checked_outputs({outputs, output_place, output_allocator}, handle);
    PendingRequest pending(queue, request.block(), call.model, call.raise_on_error, deadline);
    request.block()->read_labels(handle.labels());
    const ReleaseGil guard;
    request.submit(std::move(queue), std::move(placed), handle.name(), handle.version());
    return pending;
}

template <typename Iterator>
Iterator infer(ModelHandle& handle, nb::object model, bool raise_on_error, const nb::object& inputs,
               const nb::dict& fields) {
    return Iterator(submit({handle, std::move(model), raise_on_error, inputs, fields}));
}

/// Two iterators over the same responses; the second hands errors out, whatever the first does.
template <typename Iterator>
std::pair<Iterator, Iterator> infer_twice(ModelHandle& handle, nb::object model, bool raise_on_error,
                                          const nb::object& inputs, const nb::dict& fields) {
    Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
    PendingRequest first = submit({handle, model, raise_on_error, inputs, fields}, queue);
    PendingRequest second(std::move(queue), first.block(), std::move(model), false, {});
    return {Iterator(std::move(first)), Iterator(std::move(second))};
}

}  // namespace

void register_infer(nb::module_& module) {
    using namespace nb::literals;
    module.def("infer", &infer<ResponseIterator>, "handle"_a, "model"_a, "raise_on_error"_a, "inputs"_a.none(),
               "fields"_a,
               nb::sig("def infer(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, "
                       "inputs: Any, fields: dict[str, Any]) -> ResponseIterator"),
               "Send a request; the iterator waits in a thread. `inputs` None: they are among the fields.");
    module.def(
        "async_infer", &infer<AsyncResponseIterator>, "handle"_a, "model"_a, "raise_on_error"_a, "inputs"_a.none(),
        "fields"_a,
        nb::sig("def async_infer(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, "
                "inputs: Any, fields: dict[str, Any]) -> AsyncResponseIterator"),
        "As infer; the iterator waits in an event loop.");
    module.def(
        "infer_twice", &infer_twice<ResponseIterator>, "handle"_a, "model"_a, "raise_on_error"_a, "inputs"_a.none(),
        "fields"_a,
        nb::sig("def infer_twice(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, "
                "inputs: Any, fields: dict[str, Any]) -> tuple[ResponseIterator, ResponseIterator]"),
        "As infer, but with two iterators over the same responses; the second raises no errors.");
    module.def(
        "async_infer_twice", &infer_twice<AsyncResponseIterator>, "handle"_a, "model"_a, "raise_on_error"_a,
        "inputs"_a.none(), "fields"_a,
        nb::sig("def async_infer_twice(handle: ModelHandle, model: triton_inprocess.model.Model, raise_on_error: bool, "
                "inputs: Any, fields: dict[str, Any]) -> tuple[AsyncResponseIterator, AsyncResponseIterator]"),
        "As async_infer, but with two iterators over the same responses; the second raises no errors.");
}

}  // namespace triton_inprocess
