#include "bindings/capi/parameter.h"

#include <nanobind/stl/string.h>

#include <utility>
#include <variant>

#include "bindings/arguments.h"
#include "bindings/errors.h"
#include "bindings/numpy.h"
#include "bindings/python_buffer.h"
#include "bindings/runtime.h"
#include "core/parameter.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// The bytes themselves, or a copy of what another object shows of its memory; not valid for any other object.
nb::object to_bytes(nb::handle value) {
    if (PyBytes_Check(value.ptr()) != 0) {
        return nb::borrow(value);
    }
    if (nb::isinstance(value, numpy().attr("generic"))) {
        return nb::object();  // a number, although it shows its memory
    }
    const nb::object view = nb::steal(PyMemoryView_FromObject(value.ptr()));
    if (!view.is_valid()) {
        PyErr_Clear();
        return nb::object();
    }
    // The memory of an array of objects is addresses; of a masked one it is not all.
    const bool meant = text_of(view.attr("format")).find('O') == std::string::npos &&
                       !nb::isinstance(value, nb::module_::import_("numpy.ma").attr("MaskedArray"));
    if (!meant) {
        wrong_type("value", "a str, int, bool, float or bytes", value);
    }
    return view.attr("tobytes")();
}

void make(Parameter* self, nb::handle name, nb::handle value) {
    ensure_runtime();
    std::string text = text_argument("name", name);
    const nb::object bytes = to_bytes(value);
    if (bytes.is_valid()) {
        char* data = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) {
            throw nb::python_error();
        }
        new (self) Parameter(std::move(text), make_ref<PythonBuffer>(data, static_cast<std::size_t>(size),
                                                                     TRITONSERVER_MEMORY_CPU, 0, true, bytes));
        return;
    }
    std::visit([&](const auto& each) { new (self) Parameter(std::move(text), each); },
               parameter_argument("value", value));
}

}  // namespace

void register_parameter(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Parameter>(
        module, "TRITONSERVER_Parameter",
        "A named value for the load of a model, a repository's names or a metric's labels (TRITONSERVER_Parameter).")
        .def("__init__", &make, "name"_a, "value"_a,
             nb::sig("def __init__(self, name: str, value: str | int | bool | float | bytes | bytearray | memoryview) "
                     "-> None"),
             "A parameter of the value's own type: a bool, also numpy's, is a BOOL, an int an INT, a float a DOUBLE, a "
             "str a STRING; bytes and what else shows its memory are BYTES, with every NUL "
             "(TRITONSERVER_ParameterNew, TRITONSERVER_ParameterBytesNew).\n\n"
             "Raises TypeError for any other value, OverflowError for an int beyond 64 bits, ValueError for a NUL in a "
             "str, and UnsupportedError for a float where the library has none (before C API 1.28).")
        .def_prop_ro("name", &Parameter::name)
        .def_prop_ro("type", &Parameter::type);
}

}  // namespace triton_inprocess
