#include "bindings/single_import.h"

#include <Python.h>
#include <nanobind/nanobind.h>

#include <atomic>

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::atomic<bool> claimed{false};

constexpr const char* twice =
    "triton_inprocess._native can be imported only once in a process, and was: the first import's modules must stay in "
    "sys.modules (and are to be put back there), and sub-interpreters cannot have their own";
constexpr const char* in_sub_interpreter =
    "triton_inprocess._native can be imported only in the main interpreter of a process, not in a sub-interpreter";

bool in_main_interpreter() noexcept {
    return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
}

}  // namespace

bool claim_import() noexcept {
    if (!in_main_interpreter()) {
        PyErr_SetString(PyExc_ImportError, in_sub_interpreter);
        return false;
    }
    if (claimed.exchange(true)) {
        PyErr_SetString(PyExc_ImportError, twice);
        return false;
    }
    return true;
}

void require_main_interpreter() {
    if (!in_main_interpreter()) {
        claimed.store(false);
        throw nb::import_error(in_sub_interpreter);
    }
}

}  // namespace triton_inprocess
