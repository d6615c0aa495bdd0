#include "bindings/arguments.h"

#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/held_object.h"
#include "bindings/numpy.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

nb::object index(nb::handle value) {
    nb::object number = nb::steal(index_on_native_thread(value.ptr()));
    if (!number.is_valid()) {
        throw nb::python_error();
    }
    return number;
}

bool is_numpy(nb::handle value, const char* kind) {
    return nb::isinstance(value, numpy().attr(kind));
}

bool is_float(nb::handle value) {
    return PyFloat_Check(value.ptr()) != 0 || is_numpy(value, "floating");
}

}  // namespace

std::string class_name(nb::handle value) {
    // A metaclass can compute it.
    const HeldObject name = nb::steal(attribute_on_native_thread(value.type().ptr(), "__name__"));
    if (!name.is_valid()) {
        throw nb::python_error();
    }
    return text_of(name);
}

void wrong_type(std::string_view argument, const char* expected, nb::handle value) {
    throw nb::type_error((std::string(argument) + " must be " + expected + ", not " + class_name(value)).c_str());
}

void require_initialized(std::string_view argument, nb::handle value) {
    if (!nb::inst_ready(value)) {
        throw nb::type_error((std::string(argument) + " is a " + class_name(value) +
                              " that was not initialized: its __init__ has not been called")
                                 .c_str());
    }
}

nb::object callable_argument(std::string_view argument, nb::object value) {
    if (PyCallable_Check(value.ptr()) == 0) {
        wrong_type(argument, "callable", value);
    }
    return value;
}

std::string text_argument(std::string_view argument, nb::handle value) {
    if (PyUnicode_Check(value.ptr()) == 0) {
        wrong_type(argument, "a str", value);
    }
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (data == nullptr) {
        nb::python_error error;
        if (!error.matches(PyExc_UnicodeError)) {
            throw error;
        }
        const std::string message =
            std::string(argument) + " must be text that UTF-8 can encode: " + text_of(error.value());
        nb::raise_from(error, PyExc_ValueError, "%s", message.c_str());
    }
    std::string result(data, static_cast<std::size_t>(size));
    if (result.find('\0') != std::string::npos) {
        throw nb::value_error((std::string(argument) + " must not contain a NUL character").c_str());
    }
    return result;
}

bool is_integer(nb::handle value) {
    return PyBool_Check(value.ptr()) == 0 && PyIndex_Check(value.ptr()) != 0;
}

bool is_bool(nb::handle value) {
    return PyBool_Check(value.ptr()) != 0 || is_numpy(value, "bool_");
}

bool bool_argument(std::string_view argument, nb::handle value) {
    if (!is_bool(value)) {
        wrong_type(argument, "a bool", value);
    }
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0) {
        throw nb::python_error();
    }
    return truth != 0;
}

std::uint64_t unsigned_argument(std::string_view argument, nb::handle value, std::uint64_t limit) {
    if (!is_integer(value)) {
        wrong_type(argument, "an int", value);
    }
    const nb::object number = index(value);
    const std::uint64_t result = PyLong_AsUnsignedLongLong(number.ptr());
    const bool failed = PyErr_Occurred() != nullptr;
    PyErr_Clear();
    if (failed || result > limit) {
        throw nb::value_error(
            (std::string(argument) + " must be from 0 to " + std::to_string(limit) + ", not " + text_of(number))
                .c_str());
    }
    return result;
}

std::int64_t integer_argument(std::string_view argument, nb::handle value) {
    if (!is_integer(value)) {
        wrong_type(argument, "an int", value);
    }
    const nb::object number = index(value);
    int overflow = 0;
    const std::int64_t integer = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) {
        PyErr_SetString(PyExc_OverflowError, (std::string(argument) + " does not fit a 64-bit integer").c_str());
        throw nb::python_error();
    }
    return integer;
}

double float_argument(std::string_view argument, nb::handle value) {
    if (!is_float(value) && !is_integer(value)) {
        wrong_type(argument, "a float", value);
    }
    const double result = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() != nullptr) {
        throw nb::python_error();
    }
    return result;
}

ParameterValue parameter_argument(std::string_view argument, nb::handle value) {
    if (is_bool(value)) {
        return bool_argument(argument, value);
    }
    if (PyUnicode_Check(value.ptr()) != 0) {
        return text_argument(argument, value);
    }
    if (is_integer(value)) {
        return integer_argument(argument, value);
    }
    if (is_float(value)) {
        return float_argument(argument, value);
    }
    wrong_type(argument, "a str, int, bool or float", value);
}

}  // namespace triton_inprocess
