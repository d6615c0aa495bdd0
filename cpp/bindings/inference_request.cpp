#include "bindings/inference_request.h"

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "bindings/gil.h"
#include "bindings/numpy.h"
#include "bindings/pending_request.h"
#include "bindings/request_fields.h"
#include "bindings/response_iterator.h"
#include "core/inference_request.h"
#include "core/server.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_inference_request(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<InferenceRequest>(
        module, "InferenceRequest",
        nb::intrusive_ptr<InferenceRequest>(
            [](InferenceRequest* request, PyObject* self) noexcept { request->set_self_py(self); }),
        "A request that is filled, sent, and sent again when it is completed (TRITONSERVER_InferenceRequest). While "
        "it is in "
        "flight, everything that would change it raises UnavailableError.")
        .def(
            "__init__",
            [](InferenceRequest* self, const Server& server, const std::string& model_name,
               std::int64_t model_version) {
                new (self) InferenceRequest(server.state(), model_name, model_version, RequestBlock::Use::reusable);
            },
            "server"_a, "model_name"_a, "model_version"_a)
        .def(
            "set_field",
            [](InferenceRequest& self, nb::handle name, nb::handle value) { set_field(self, name, value); }, "name"_a,
            "value"_a)
        .def(
            "add_input",
            [](InferenceRequest& self, const std::string& name, nb::handle value) {
                self.add_input(name, to_tensor(value));
            },
            "name"_a, "value"_a)
        .def("remove_input", &InferenceRequest::remove_input, "name"_a)
        .def(
            "submit",
            [](InferenceRequest& self, nb::object model) {
                drop_deferred();
                Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
                PendingRequest pending(queue, self.block(), std::move(model), true);
                {
                    const ReleaseGil guard;
                    self.submit(std::move(queue));
                }
                return ResponseIterator(std::move(pending));
            },
            "model"_a, nb::sig("def submit(self, model: triton_inprocess.model.Model) -> ResponseIterator"))
        .def_prop_ro("in_flight", &InferenceRequest::in_flight)
        .def("cancel", [](InferenceRequest& self) {
            const ReleaseGil guard;
            self.cancel();
        });
}

}  // namespace triton_inprocess
