#include "backend/function_call.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backend/output_conversion.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/held_object.h"
#include "bindings/numpy.h"
#include "bindings/sole_reference.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// The value for an output, borrowed from the result.
PyObject* output_value(PyObject* result, std::size_t index, const PythonFunction& function) {
    const auto& specs = function.outputs();
    if (PyDict_Check(result) != 0) {
        PyObject* const value = PyDict_GetItemString(result, specs[index].name.c_str());
        if (value == nullptr) {
            refuse_result(function, "returned no output '" + specs[index].name + "'");
        }
        return value;
    }
    return PyTuple_Check(result) != 0 ? PyTuple_GetItem(result, static_cast<Py_ssize_t>(index)) : result;
}

/// Whether nobody but the caller refers to a value of the result, to which he has the only reference himself.
bool is_sole(PyObject* value, PyObject* result) noexcept {
    // An object of a derived class may do things when it goes.
    const bool within = PyDict_CheckExact(result) || PyTuple_CheckExact(result);
    return (value == result || (within && has_one_reference(result))) && has_one_reference(value);
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
            refuse_result(function, "returned a dict with a key that is " + shown + class_name(key) + ", expected str");
        }
        const std::string name = text_of(key);
        if (!declares(function, name)) {
            refuse_result(function, "returned an output '" + name + "' that it does not declare");
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
        refuse_result(function, "returned None, expected " + std::to_string(count) + " output(s)");
    }
    if (given != count) {
        refuse_result(function, "returned " + std::to_string(given) + " output(s), expected " + std::to_string(count));
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

std::vector<FunctionOutput> take_outputs(PyObject* result, const PythonFunction& function, std::int64_t rows,
                                         const std::vector<Tensor>& inputs) {
    check_result(result, function);
    std::vector<FunctionOutput> outputs;
    outputs.reserve(function.outputs().size());
    for (std::size_t i = 0; i < function.outputs().size(); ++i) {
        PyObject* const value = output_value(result, i, function);
        outputs.push_back(to_output(value, is_sole(value, result), function.outputs()[i], function, rows, inputs));
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

std::vector<FunctionOutput> call_function(const PythonFunction& function, const std::vector<Tensor>& inputs,
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
        return take_outputs(result.get(), function, rows, inputs);
    } catch (nb::python_error& error) {  // of ours: making arrays failed
        error.restore();
        throw take_function_error();
    }
}

}  // namespace triton_inprocess
