// Whether nobody else refers to a Python object.
#pragma once

#include <Python.h>

#include <cstdint>

namespace triton_inprocess {

/// Whether the object has one reference; needs the GIL. From CPython 3.14 on a caller's variable may have lent its
/// reference to an argument: what is asked of must be the result of a call.
inline bool has_one_reference(PyObject* object) noexcept {
    return static_cast<std::uint32_t>(Py_REFCNT(object)) == 1;  // from 3.12 on the upper half holds something else
}

}  // namespace triton_inprocess
