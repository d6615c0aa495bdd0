// Lets Python's garbage collector see what a bound object holds, so that users' cycles through it are collected.
#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

/// Type slots for a class that has `held()`, a range of the Python objects it holds (null ones are skipped), and
/// `let_go()`, which drops them.
template <typename T>
PyType_Slot* garbage_collection_slots() {
    struct Slots {
        static int traverse(PyObject* self, visitproc visit, void* arg) {
            Py_VISIT(Py_TYPE(self));
            if (nanobind::inst_ready(self)) {
                for (PyObject* const object : nanobind::inst_ptr<T>(self)->held()) {
                    Py_VISIT(object);
                }
            }
            return 0;
        }

        static int clear(PyObject* self) {
            if (nanobind::inst_ready(self)) {
                nanobind::inst_ptr<T>(self)->let_go();
            }
            return 0;
        }
    };
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&Slots::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&Slots::clear)},
                                  {0, nullptr}};
    return slots;
}

}  // namespace triton_inprocess
