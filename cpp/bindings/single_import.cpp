#include "bindings/single_import.h"

#include <nanobind/nanobind.h>

#include <atomic>

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::atomic<bool> made{false};

constexpr const char* twice =
    "triton_inprocess._native can be imported only once in a process, and was: the first import's modules must stay in "
    "sys.modules (and are to be put back there)";
constexpr const char* in_sub_interpreter =
    "triton_inprocess._native can be imported only in the main interpreter of a process, not in a sub-interpreter";

bool in_main_interpreter() noexcept {
    return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
}

int refuse(PyObject* /*module*/) noexcept {
    PyErr_SetString(PyExc_ImportError, in_main_interpreter() ? twice : in_sub_interpreter);
    return -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&refuse)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

PyObject* refused_module() noexcept {
    return made.load() || !in_main_interpreter() ? PyModuleDef_Init(&definition) : nullptr;
}

void claim_import() {
    if (!in_main_interpreter()) {
        throw nb::import_error(in_sub_interpreter);
    }
    made.store(true);
}

}  // namespace triton_inprocess
