#include "bindings/inference_response.h"

#include <nanobind/stl/string.h>

#include <utility>
#include <variant>

#include "bindings/errors.h"
#include "bindings/garbage_collection.h"
#include "bindings/name_text.h"
#include "bindings/representation.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

nb::object outputs(BoundResponse& self) {
    if (!self.outputs.is_valid()) {
        nb::dict dict;
        for (const InferenceResponse::Output& output : self.response->outputs) {
            dict[name_text(output.name)] = nb::cast(output.tensor);
        }
        // Making objects can run the garbage collector, and that whatever asks for the outputs, too.
        if (!self.outputs.is_valid()) {
            self.outputs = std::move(dict);
        }
    }
    return self.outputs;
}

nb::object to_python(const std::string& value) {
    return nb::str(value.c_str(), value.size());
}
nb::object to_python(std::int64_t value) {
    return nb::int_(value);
}
nb::object to_python(bool value) {
    return nb::bool_(value);
}
nb::object to_python(double value) {
    return nb::float_(value);
}

nb::dict parameters(const BoundResponse& self) {
    nb::dict dict;
    for (const InferenceResponse::Parameter& parameter : self.response->parameters) {
        dict[nb::str(parameter.name.c_str(), parameter.name.size())] =
            std::visit([](const auto& value) { return to_python(value); }, parameter.value);
    }
    return dict;
}

}  // namespace

nb::object make_response(std::unique_ptr<InferenceResponse> response, nb::object model) {
    return nb::cast(BoundResponse{std::move(response), std::move(model), nb::object()});
}

void register_inference_response(nb::module_& module) {
    nb::class_<BoundResponse>(module, "InferenceResponse", nb::type_slots(garbage_collection_slots<BoundResponse>()),
                              "One response of a model. It holds nothing of Triton: it may outlive request and server.")
        .def_prop_ro(
            "model", [](const BoundResponse& self) { return self.model; },
            nb::sig("def model(self) -> triton_inprocess.model.Model"), "The Model that the request was sent through.")
        .def_prop_ro(
            "model_version", [](const BoundResponse& self) { return self.response->model_version; },
            "The version that answered.")
        .def_prop_ro(
            "request_id", [](const BoundResponse& self) { return self.response->request_id; },
            "The request's id, or the empty string.")
        .def_prop_ro("parameters", &parameters, nb::sig("def parameters(self) -> dict[str, str | int | bool | float]"),
                     "What the model sent along.")
        .def_prop_ro(
            "outputs", &outputs, nb::sig("def outputs(self) -> dict[str, Tensor]"),
            "The output tensors by name; none in an error and in the empty final response of a decoupled model.")
        .def_prop_ro(
            "error",
            [](const BoundResponse& self) -> nb::object {
                return self.response->error ? to_exception(*self.response->error) : nb::none();
            },
            nb::sig("def error(self) -> triton_inprocess.errors.TritonError | None"),
            "Why the request failed, or None.")
        .def_prop_ro(
            "final", [](const BoundResponse& self) { return self.response->final; },
            "Whether no response follows this one.")
        .def("__repr__", [](const BoundResponse& self) { return represent(self); });
}

}  // namespace triton_inprocess
