#include "backend/function_call.h"

#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/numpy.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

[[noreturn]] void refuse(const PythonFunction& function, const std::string& reason) {
    throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the function of model '" + function.model_name() + "' " + reason);
}

std::string expected_shape(const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    std::vector<std::int64_t> shape = spec.shape;
    if (function.batched()) {
        shape.insert(shape.begin(), rows);
    }
    return shape_text(shape.data(), shape.size());
}

void check_shape(const Tensor& tensor, const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    const auto& shape = tensor.shape();
    const std::size_t batch_dimensions = function.batched() ? 1 : 0;
    const bool right = shape.size() >= batch_dimensions && (batch_dimensions == 0 || shape[0] == rows) &&
                       spec.admits(shape.data() + batch_dimensions, shape.size() - batch_dimensions);
    if (!right) {
        refuse(function, "returned output '" + spec.name + "' of shape " + shape_text(shape.data(), shape.size()) +
                             ", expected " + expected_shape(spec, function, rows));
    }
}

Tensor to_output(nb::handle value, const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    std::optional<Tensor> tensor = tensor_over_array(value);
    if (!tensor) {
        // Lists, other array types, strided arrays, BYTES: what has no type of its own takes the declared one.
        try {
            tensor = nb::cast<Tensor>(
                nb::module_::import_("triton_inprocess._convert").attr("to_output_tensor")(value, spec.data_type));
        } catch (nb::python_error& error) {
            refuse(function, "returned output '" + spec.name + "' that is no " + data_type_name(spec.data_type) +
                                 " tensor: " + nb::cast<std::string>(nb::str(error.value())));
        }
    }
    if (spec.data_type == TRITONSERVER_TYPE_BF16 && tensor->data_type() == TRITONSERVER_TYPE_UINT16) {
        tensor = Tensor(spec.data_type, tensor->shape(), tensor->buffer());  // the bits, for want of a numpy type
    }
    if (tensor->data_type() != spec.data_type) {
        refuse(function, "returned output '" + spec.name + "' of type " + data_type_name(tensor->data_type()) +
                             ", expected " + data_type_name(spec.data_type));
    }
    check_shape(*tensor, spec, function, rows);
    return *std::move(tensor);
}

nb::object output_value(const nb::object& result, std::size_t index, const PythonFunction& function) {
    const auto& specs = function.outputs();
    if (PyDict_Check(result.ptr()) != 0) {
        PyObject* const value = PyDict_GetItemString(result.ptr(), specs[index].name.c_str());
        if (value == nullptr) {
            refuse(function, "returned no output '" + specs[index].name + "'");
        }
        return nb::borrow(value);
    }
    if (PyTuple_Check(result.ptr()) != 0) {
        return nb::borrow(PyTuple_GetItem(result.ptr(), static_cast<Py_ssize_t>(index)));
    }
    return result;
}

void check_result(const nb::object& result, const PythonFunction& function) {
    const std::size_t count = function.outputs().size();
    std::size_t given = 1;
    if (PyDict_Check(result.ptr()) != 0) {
        given = static_cast<std::size_t>(PyDict_Size(result.ptr()));
        for (const auto [name, value] : nb::borrow<nb::dict>(result)) {
            const auto text = nb::cast<std::string>(nb::str(name));
            bool known = false;
            for (const TensorSpec& spec : function.outputs()) {
                known = known || spec.name == text;
            }
            if (!known) {
                refuse(function, "returned an output '" + text + "' that it does not declare");
            }
        }
    } else if (PyTuple_Check(result.ptr()) != 0) {
        given = static_cast<std::size_t>(PyTuple_Size(result.ptr()));
    } else if (result.is_none()) {
        refuse(function, "returned None, expected " + std::to_string(count) + " output(s)");
    }
    if (given != count) {
        refuse(function, "returned " + std::to_string(given) + " output(s), expected " + std::to_string(count));
    }
}

std::vector<Tensor> take_outputs(const nb::object& result, const PythonFunction& function, std::int64_t rows) {
    check_result(result, function);
    std::vector<Tensor> outputs;
    outputs.reserve(function.outputs().size());
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
        outputs.push_back(to_output(output_value(result, i, function), function.outputs()[i], function, rows));
    }
    return outputs;
}

std::vector<Tensor> call(const PythonFunction& function, const std::vector<Tensor>& inputs, std::int64_t rows) {
    const nb::object callable = function.function();
    if (!callable.is_valid()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "model '" + function.model_name() + "' was removed");
    }
    nb::dict arguments;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        arguments[function.inputs()[i].name.c_str()] = to_array(inputs[i], true);
    }
    const nb::tuple none = nb::make_tuple();
    const nb::object result = nb::steal(call_on_native_thread(callable.ptr(), none.ptr(), arguments.ptr()));
    if (!result.is_valid()) {
        throw nb::python_error();
    }
    return take_outputs(result, function, rows);
}

}  // namespace

std::vector<Tensor> call_function(const PythonFunction& function, const std::vector<Tensor>& inputs,
                                  std::int64_t rows) {
    try {
        return call(function, inputs, rows);
    } catch (nb::python_error& error) {
        error.restore();
        throw take_python_error();
    }
}

}  // namespace triton_inprocess
