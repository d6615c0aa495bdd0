#include "bindings/inference_response.h"

#include <nanobind/stl/string.h>

#include <utility>
#include <variant>
#include <vector>

#include "bindings/allocated_tensor.h"
#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
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
            dict[name_text(output.name)] =
                self.response->python_memory ? make_allocated_tensor(output.tensor) : nb::cast(output.tensor);
        }
        // Making objects can run the garbage collector, and that whatever asks for the outputs, too.
        if (!self.outputs.is_valid()) {
            self.outputs = std::move(dict);
            if (self.response->python_memory) {
                // Only the tensors have the memory now, so that it is theirs to tell the garbage collector of.
                for (InferenceResponse::Output& output : self.response->outputs) {
                    output.tensor = without_memory();
                }
            }
        }
    }
    return self.outputs;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) {
        return 0;
    }
    const auto& bound = *nb::inst_ptr<BoundResponse>(self);
    Py_VISIT(bound.model.ptr());
    Py_VISIT(bound.outputs.ptr());
    if (bound.holds_python_memory()) {
        std::vector<PyObject*> objects;
        for (const InferenceResponse::Output& output : bound.response->outputs) {
            add_held(*output.tensor.buffer(), objects);
        }
        for (PyObject* const object : objects) {
            Py_VISIT(object);
        }
    }
    return 0;
}

void finalize(PyObject* self) {
    if (nb::inst_ready(self)) {
        nb::inst_ptr<BoundResponse>(self)->give_memory_back();
    }
}

CachedAttribute best_label("triton_inprocess._labels", "best_label");

nb::dict labels(const BoundResponse& self) {
    nb::dict dict;
    for (const InferenceResponse::Output& output : self.response->outputs) {
        if (output.labels) {
            nb::list texts;
            for (const std::string& label : *output.labels) {
                // A file that somebody wrote: any bytes.
                texts.append(nb::steal(
                    PyUnicode_DecodeUTF8(label.data(), static_cast<Py_ssize_t>(label.size()), "backslashreplace")));
            }
            dict[name_text(output.name)] = nb::tuple(texts);
        }
    }
    return dict;
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

void BoundResponse::give_memory_back() noexcept {
    if (holds_python_memory() && !response->outputs.empty()) {
        // For who brings the response back to life.
        response->error.emplace(TRITONSERVER_ERROR_UNAVAILABLE, "the garbage collector has taken the outputs");
        const std::vector<InferenceResponse::Output> gone = std::exchange(response->outputs, {});
    }
}

nb::object make_response(std::unique_ptr<InferenceResponse> response, nb::object model) {
    return nb::cast(BoundResponse{std::move(response), std::move(model), nb::object()});
}

void register_inference_response(nb::module_& module) {
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&GarbageCollection<BoundResponse>::clear)},
                                  {Py_tp_finalize, reinterpret_cast<void*>(&finalize)},
                                  {0, nullptr}};
    nb::class_<BoundResponse>(module, "InferenceResponse", nb::type_slots(slots),
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
        .def_prop_ro("labels", &labels, nb::sig("def labels(self) -> dict[str, tuple[str, ...]]"),
                     "By output, the labels of its classes in their order: those of the model's `label_filename` "
                     "(TRITONSERVER_InferenceResponseOutputClassificationLabel). Outputs without labels are left out; "
                     "a class without one has the empty string.")
        .def_prop_ro(
            "classification_label",
            [](nb::handle self) {
                instance_argument<BoundResponse>("self", "an InferenceResponse", self);
                return nb::object(best_label.get()(self));
            },
            nb::sig("def classification_label(self) -> str | None"),
            "The label of the class with the highest value, of the first output that has labels; None if none has.\n\n"
            "Raises UnsupportedError when that output is not one row of numbers: `labels` has the labels then.")
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
