#include "bindings/name_text.h"

#include <array>
#include <functional>
#include <string_view>
#include <utility>

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// What was asked for lately, each text where its hash says. Never dropped: needed until the interpreter ends.
std::array<PyObject*, 256> recent = {};

bool is_text(PyObject* object, std::string_view text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(object, &size);
    return std::string_view(data, static_cast<std::size_t>(size)) == text;
}

}  // namespace

nb::object name_text(const std::string& name) {
    PyObject*& place = recent[std::hash<std::string>()(name) % recent.size()];
    if (place != nullptr && is_text(place, name)) {
        return nb::borrow(place);
    }
    // Interned: the name that the user looks it up by is so, too, and then found by its address.
    PyObject* made = nb::str(name.c_str(), name.size()).release().ptr();
    PyUnicode_InternInPlace(&made);
    Py_XDECREF(std::exchange(place, nb::borrow(made).release().ptr()));
    return nb::steal(made);
}

}  // namespace triton_inprocess
