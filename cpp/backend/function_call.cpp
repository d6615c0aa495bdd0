#include "backend/function_call.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/cached_attribute.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/held_object.h"
#include "bindings/numpy.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute general_conversion("triton_inprocess._convert", "to_output_tensor");

[[noreturn]] void refuse(const PythonFunction& function, const std::string& reason) {
    throw Error(TRITONSERVER_ERROR_INTERNAL, "the function of model '" + function.model_name() + "' " + reason);
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

/// What the general conversion makes of a value: lists, other array types, strided arrays, BYTES. It runs Python code.
Tensor convert_output(nb::handle value, const TensorSpec& spec, const PythonFunction& function) {
    const nb::tuple arguments = nb::make_tuple(value, spec.data_type);
    const NativeThreadObject tensor(call_on_native_thread(general_conversion.get().ptr(), arguments.ptr(), nullptr));
    if (tensor.get() == nullptr) {
        refuse(function, "returned output '" + spec.name + "' that is no " + data_type_name(spec.data_type) +
                             " tensor: " + take_function_error().message());
    }
    return nb::cast<const Tensor&>(nb::handle(tensor.get()));
}

Tensor to_output(nb::handle value, const TensorSpec& spec, const PythonFunction& function, std::int64_t rows) {
    std::optional<Tensor> over_array = tensor_over_array(value);
    Tensor tensor = over_array ? *std::move(over_array) : convert_output(value, spec, function);
    if (spec.data_type == TRITONSERVER_TYPE_BF16 && tensor.data_type() == TRITONSERVER_TYPE_UINT16) {
        tensor = Tensor(spec.data_type, tensor.shape(), tensor.buffer());  // the bits, for want of a numpy type
    }
    if (tensor.buffer()->memory_type() == TRITONSERVER_MEMORY_GPU) {
        refuse(function, "returned output '" + spec.name + "' in GPU memory, expected host memory");
    }
    if (tensor.data_type() != spec.data_type) {
        refuse(function, "returned output '" + spec.name + "' of type " + data_type_name(tensor.data_type()) +
                             ", expected " + data_type_name(spec.data_type));
    }
    check_shape(tensor, spec, function, rows);
    return tensor;
}

/// The value for an output, borrowed from the result.
PyObject* output_value(PyObject* result, std::size_t index, const PythonFunction& function) {
    const auto& specs = function.outputs();
    if (PyDict_Check(result) != 0) {
        PyObject* const value = PyDict_GetItemString(result, specs[index].name.c_str());
        if (value == nullptr) {
            refuse(function, "returned no output '" + specs[index].name + "'");
        }
        return value;
    }
    return PyTuple_Check(result) != 0 ? PyTuple_GetItem(result, static_cast<Py_ssize_t>(index)) : result;
}

std::string class_name(PyObject* object) {
    // A metaclass can compute it.
    const HeldObject name = nb::steal(attribute_on_native_thread(nb::handle(object).type().ptr(), "__name__"));
    if (!name.is_valid()) {
        throw nb::python_error();
    }
    return PyUnicode_Check(name.ptr()) != 0 ? text_of(name) : "of a class without a name";
}

bool declares(const PythonFunction& function, const std::string& name) {
    const auto& outputs = function.outputs();
    return std::any_of(outputs.begin(), outputs.end(), [&](const TensorSpec& spec) { return spec.name == name; });
}

void check_names(PyObject* result, const PythonFunction& function) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(result, &position, &key, &value) != 0) {
        const NativeThreadObject kept(Py_NewRef(key));  // what is asked of it below may change the dict
        if (PyUnicode_Check(key) == 0) {
            // Only a number is shown: what another object shows, it may compute in Python.
            const std::string shown = PyLong_CheckExact(key) ? text_of(key) + ", " : "";
            refuse(function, "returned a dict with a key that is " + shown + class_name(key) + ", expected str");
        }
        const std::string name = text_of(key);
        if (!declares(function, name)) {
            refuse(function, "returned an output '" + name + "' that it does not declare");
        }
    }
}

void check_result(PyObject* result, const PythonFunction& function) {
    const std::size_t count = function.outputs().size();
    std::size_t given = 1;
    if (PyDict_Check(result) != 0) {
        given = static_cast<std::size_t>(PyDict_Size(result));
        check_names(result, function);
    } else if (PyTuple_Check(result) != 0) {
        given = static_cast<std::size_t>(PyTuple_Size(result));
    } else if (result == Py_None) {
        refuse(function, "returned None, expected " + std::to_string(count) + " output(s)");
    }
    if (given != count) {
        refuse(function, "returned " + std::to_string(given) + " output(s), expected " + std::to_string(count));
    }
}

/// The keyword arguments: a new reference.
PyObject* to_arguments(const PythonFunction& function, const std::vector<Tensor>& inputs) {
    nb::dict arguments;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        arguments[function.inputs()[i].name.c_str()] = to_array(inputs[i], true);
    }
    return arguments.release().ptr();
}

}  // namespace

std::vector<Tensor> take_outputs(PyObject* result, const PythonFunction& function, std::int64_t rows) {
    check_result(result, function);
    std::vector<Tensor> outputs;
    outputs.reserve(function.outputs().size());
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
        outputs.push_back(to_output(output_value(result, i, function), function.outputs()[i], function, rows));
    }
    return outputs;
}

void log_failure(const PythonFunction& function, const Error& error) noexcept {
    if (error.code() != TRITONSERVER_ERROR_INTERNAL) {
        return;  // one that the function has raised on purpose: it is for the caller
    }
    try {
        const std::string& text = error.detail().empty() ? error.message() : error.detail();
        ignore(api().TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, "function_call.cpp", __LINE__,
                                             ("model '" + function.model_name() + "' has failed: " + text).c_str()));
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // Out of memory: the caller is told all the same.
    }
}

std::vector<Tensor> call_function(const PythonFunction& function, const std::vector<Tensor>& inputs,
                                  std::int64_t rows) {
    try {
        const NativeThreadObject callable(function.function().release().ptr());
        if (callable.get() == nullptr) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "model '" + function.model_name() + "' was removed");
        }
        const NativeThreadObject arguments(to_arguments(function, inputs));
        const nb::tuple none = nb::make_tuple();
        const NativeThreadObject result(call_on_native_thread(callable.get(), none.ptr(), arguments.get()));
        if (result.get() == nullptr) {
            throw take_function_error();
        }
        return take_outputs(result.get(), function, rows);
    } catch (nb::python_error& error) {  // of ours: making arrays failed
        error.restore();
        throw take_function_error();
    }
}

}  // namespace triton_inprocess
