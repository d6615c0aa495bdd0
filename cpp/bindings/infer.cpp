#include "bindings/infer.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bindings/async_response_iterator.h"
#include "bindings/gil.h"
#include "bindings/pending_request.h"
#include "bindings/request_fields.h"
#include "bindings/response_iterator.h"
#include "core/inference_request.h"
#include "core/server.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// Sends a request; with `second`, every response goes to that queue, too.
PendingRequest submit(const Server& server, nb::object model, const std::string& name, std::int64_t version,
                      bool raise_on_error, const nb::dict& fields, Ref<ResponseQueue> second = nullptr) {
    drop_deferred();
    InferenceRequest request(server.state(), name, version, RequestBlock::Use::once);
    for (const auto [field, value] : fields) {
        set_field(request, field, value);
    }
    Ref<ResponseQueue> queue = make_ref<ResponseQueue>(std::move(second));
    PendingRequest pending(queue, request.block(), std::move(model), raise_on_error);
    const ReleaseGil guard;
    request.submit(std::move(queue));
    return pending;
}

template <typename Iterator>
Iterator infer(const Server& server, nb::object model, const std::string& name, std::int64_t version,
               bool raise_on_error, const nb::dict& fields) {
    return Iterator(submit(server, std::move(model), name, version, raise_on_error, fields));
}

/// Two iterators over the same responses; the second hands errors out, whatever the first does.
template <typename Iterator>
std::pair<Iterator, Iterator> infer_twice(const Server& server, nb::object model, const std::string& name,
                                          std::int64_t version, bool raise_on_error, const nb::dict& fields) {
    Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
    PendingRequest first = submit(server, model, name, version, raise_on_error, fields, queue);
    PendingRequest second(std::move(queue), first.block(), std::move(model), false);
    return {Iterator(std::move(first)), Iterator(std::move(second))};
}

}  // namespace

void register_infer(nb::module_& module) {
    using namespace nb::literals;
    module.def("infer", &infer<ResponseIterator>, "server"_a, "model"_a, "name"_a, "version"_a, "raise_on_error"_a,
               "fields"_a,
               nb::sig("def infer(server: Server, model: triton_inprocess.model.Model, name: str, version: int, "
                       "raise_on_error: bool, fields: dict[str, Any]) -> ResponseIterator"),
               "Send a request with the given fields; the iterator waits in a thread.");
    module.def("async_infer", &infer<AsyncResponseIterator>, "server"_a, "model"_a, "name"_a, "version"_a,
               "raise_on_error"_a, "fields"_a,
               nb::sig("def async_infer(server: Server, model: triton_inprocess.model.Model, name: str, version: int, "
                       "raise_on_error: bool, fields: dict[str, Any]) -> AsyncResponseIterator"),
               "Send a request with the given fields; the iterator waits in an event loop.");
    module.def("infer_twice", &infer_twice<ResponseIterator>, "server"_a, "model"_a, "name"_a, "version"_a,
               "raise_on_error"_a, "fields"_a,
               nb::sig("def infer_twice(server: Server, model: triton_inprocess.model.Model, name: str, version: int, "
                       "raise_on_error: bool, fields: dict[str, Any]) -> tuple[ResponseIterator, ResponseIterator]"),
               "As infer, but with two iterators over the same responses; the second raises no errors.");
    module.def(
        "async_infer_twice", &infer_twice<AsyncResponseIterator>, "server"_a, "model"_a, "name"_a, "version"_a,
        "raise_on_error"_a, "fields"_a,
        nb::sig("def async_infer_twice(server: Server, model: triton_inprocess.model.Model, name: str, version: int, "
                "raise_on_error: bool, fields: dict[str, Any]) -> tuple[AsyncResponseIterator, "
                "AsyncResponseIterator]"),
        "As async_infer, but with two iterators over the same responses; the second raises no errors.");
}

}  // namespace triton_inprocess
