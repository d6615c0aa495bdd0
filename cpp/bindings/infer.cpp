#include "bindings/infer.h"

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

PendingRequest submit(const Server& server, nb::object model, const std::string& name, std::int64_t version,
                      bool raise_on_error, const nb::dict& fields) {
    drop_deferred();
    InferenceRequest request(server.state(), name, version);
    for (const auto [field, value] : fields) {
        set_field(request, field, value);
    }
    Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
    PendingRequest pending{queue, request.block(), std::move(model), raise_on_error};
    const ReleaseGil guard;
    request.submit(std::move(queue));
    return pending;
}

}  // namespace

void register_infer(nb::module_& module) {
    using namespace nb::literals;
    module.def(
        "infer",
        [](const Server& server, nb::object model, const std::string& name, std::int64_t version, bool raise_on_error,
           const nb::dict& fields) {
            return ResponseIterator(submit(server, std::move(model), name, version, raise_on_error, fields));
        },
        "server"_a, "model"_a, "name"_a, "version"_a, "raise_on_error"_a, "fields"_a,
        "Send a request with the given fields; the iterator waits in a thread.");
    module.def(
        "async_infer",
        [](const Server& server, nb::object model, const std::string& name, std::int64_t version, bool raise_on_error,
           const nb::dict& fields) {
            return AsyncResponseIterator(submit(server, std::move(model), name, version, raise_on_error, fields));
        },
        "server"_a, "model"_a, "name"_a, "version"_a, "raise_on_error"_a, "fields"_a,
        "Send a request with the given fields; the iterator waits in an event loop.");
}

}  // namespace triton_inprocess
