#include "bindings/request_inputs.h"

#include <optional>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/conversion.h"
#include "bindings/retold.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// Whether the value has no type of its own, but takes the model's.
bool is_untyped(nb::handle value) noexcept {
    PyObject* const object = value.ptr();
    return PyList_Check(object) != 0 || PyTuple_Check(object) != 0 || PyLong_CheckExact(object) != 0 ||
           PyFloat_CheckExact(object) != 0 || PyBool_Check(object) != 0;
}

/// The tensor for an input; what is wrong with the data is said with the input's name.
Tensor input_tensor(const std::string& name, nb::handle data, const ModelSignature& signature) {
    std::optional<DataType> data_type;
    if (is_untyped(data)) {
        const ModelSignature::Entry* const input = signature.find_input(name);
        data_type = input != nullptr ? std::optional(input->data_type) : std::nullopt;
    }
    return retold([&] { return "input '" + name + "': "; }, [&] { return from_any(data, data_type); });
}

ModelSignature::Tensors tensors_of(nb::handle inputs, const ModelSignature& signature) {
    ModelSignature::Tensors tensors;
    if (!inputs.is_valid()) {
        return tensors;
    }
    if (PyDict_Check(inputs.ptr()) == 0) {
        wrong_type("inputs", "a dict of input name to tensor", inputs);
    }
    tensors.reserve(nb::len(inputs));
    for (const auto [name, data] : nb::borrow<nb::dict>(inputs)) {
        std::string input = text_argument("the name of an input", name);
        const nb::object kept = nb::borrow(data);  // its conversion may run code that changes the dict
        Tensor tensor = input_tensor(input, kept, signature);
        tensors.emplace_back(std::move(input), std::move(tensor));
    }
    return tensors;
}

}  // namespace

ModelSignature::Tensors checked_inputs(nb::handle inputs, ModelHandle& model) {
    const Ref<const ModelSignature> signature = model.signature();
    ModelSignature::Tensors tensors = tensors_of(inputs, *signature);
    try {
        signature->check_inputs(tensors);
    } catch (const Error&) {
        // Whoever loads models otherwise than by this server's functions is not counted.
        model.read_signature()->check_inputs(tensors);
    }
    return tensors;
}

}  // namespace triton_inprocess
