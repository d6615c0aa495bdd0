#include "bindings/capi/inference_response.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "bindings/capi/user_buffer.h"
#include "bindings/garbage_collection.h"
#include "bindings/shape.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

template <typename Element>
const Element& element(const std::vector<Element>& elements, std::size_t index, const char* what) {
    if (index >= elements.size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "there is no " + std::string(what) + " " + std::to_string(index) +
                                                        ": the response has " + std::to_string(elements.size()));
    }
    return elements[index];
}

TRITONSERVER_ParameterType type_of(const std::string& /*value*/) noexcept {
    return TRITONSERVER_PARAMETER_STRING;
}
TRITONSERVER_ParameterType type_of(std::int64_t /*value*/) noexcept {
    return TRITONSERVER_PARAMETER_INT;
}
TRITONSERVER_ParameterType type_of(bool /*value*/) noexcept {
    return TRITONSERVER_PARAMETER_BOOL;
}
TRITONSERVER_ParameterType type_of(double /*value*/) noexcept {
    return TRITONSERVER_PARAMETER_DOUBLE;
}

nb::tuple parameter(const CapiResponse& self, std::size_t index) {
    const InferenceResponse::Parameter& found = element(self.get().parameters, index, "parameter");
    return std::visit([&](const auto& value) { return nb::make_tuple(found.name, type_of(value), value); },
                      found.value);
}

nb::tuple output(const CapiResponse& self, std::size_t index) {
    const InferenceResponse::Output& found = element(self.get().outputs, index, "output");
    const Buffer& buffer = *found.tensor.buffer();
    const nb::object shape = shape_tuple(found.tensor.shape());
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
    if (const auto* const users = dynamic_cast<const UserBuffer*>(&buffer)) {
        return nb::make_tuple(found.name, found.tensor.data_type(), shape, address, buffer.byte_size(),
                              buffer.memory_type(), buffer.memory_type_id(), users->user_object());
    }
    return nb::make_tuple(found.name, found.tensor.data_type(), shape, address, buffer.byte_size(),
                          buffer.memory_type(), buffer.memory_type_id());
}

std::string label(const CapiResponse& self, std::size_t index, std::size_t class_index) {
    const ClassLabels::Labels& labels = element(self.get().outputs, index, "output").labels;
    return labels && class_index < labels->size() ? (*labels)[class_index] : "";
}

void throw_if_error(const CapiResponse& self) {
    if (self.get().error) {
        throw Error(*self.get().error);
    }
}

}  // namespace

std::vector<PyObject*> CapiResponse::held() const {
    std::vector<PyObject*> objects;
    for (const InferenceResponse::Output& output : response_->outputs) {
        const auto* const buffer = dynamic_cast<const UserBuffer*>(output.tensor.buffer().get());
        // What others use, too, is not only this response's to let go.
        if (buffer != nullptr && buffer->unique()) {
            const auto held = buffer->held();
            objects.insert(objects.end(), held.begin(), held.end());
        }
    }
    return objects;
}

void CapiResponse::let_go() noexcept {
    // Emptied first: a release function may look at the response.
    const std::vector<InferenceResponse::Output> gone = std::exchange(response_->outputs, {});
}

nb::object make_capi_response(std::unique_ptr<InferenceResponse> response) {
    return response->empty ? nb::none() : nb::cast(CapiResponse(std::move(response)));
}

void register_capi_response(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<CapiResponse>(
        module, "TRITONSERVER_InferenceResponse", nb::type_slots(finalized_garbage_collection_slots<CapiResponse>()),
        "A response (TRITONSERVER_InferenceResponse). It may outlive its request and its server; the memory of its "
        "outputs stays for as long as it does.")
        .def_prop_ro(
            "model",
            [](const CapiResponse& self) { return std::pair(self.get().model_name, self.get().model_version); },
            "Name and version of the model that answered (TRITONSERVER_InferenceResponseModel).")
        .def_prop_ro(
            "id", [](const CapiResponse& self) { return self.get().request_id; },
            "The request's id, or the empty string (TRITONSERVER_InferenceResponseId).")
        .def_prop_ro(
            "parameter_count", [](const CapiResponse& self) { return self.get().parameters.size(); },
            "How many parameters the model sent along (TRITONSERVER_InferenceResponseParameterCount).")
        .def("parameter", &parameter, "index"_a,
             nb::sig("def parameter(self, index: int) -> tuple[str, ParameterType, str | int | bool | float]"),
             "A parameter: (name, type, value) (TRITONSERVER_InferenceResponseParameter).\n\n"
             "Raises InvalidArgumentError for an index beyond the count.")
        .def_prop_ro(
            "output_count", [](const CapiResponse& self) { return self.get().outputs.size(); },
            "How many outputs there are (TRITONSERVER_InferenceResponseOutputCount).")
        .def("output", &output, "index"_a,
             nb::sig("def output(self, index: int) -> tuple[str, DataType, tuple[int, ...], int, int, MemoryType, int] "
                     "| tuple[str, DataType, tuple[int, ...], int, int, MemoryType, int, typing.Any]"),
             "An output: (name, data_type, shape, address, byte_size, memory_type, memory_type_id), and from an "
             "allocator of yours also the buffer_user_object (TRITONSERVER_InferenceResponseOutput).\n\n"
             "Raises InvalidArgumentError for an index beyond the count.")
        .def("output_classification_label", &label, "index"_a, "class_index"_a,
             "The label of a class of an output, or the empty string when it has none "
             "(TRITONSERVER_InferenceResponseOutputClassificationLabel). Labels are read when the response comes, for "
             "an output of which one of the first 16 classes has one.\n\n"
             "Raises InvalidArgumentError for an output beyond the count.")
        .def("throw_if_response_error", &throw_if_error,
             "Raise the error that the request failed with, if it did (TRITONSERVER_InferenceResponseError).");
}

}  // namespace triton_inprocess
