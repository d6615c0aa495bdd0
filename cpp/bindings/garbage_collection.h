// Lets Python's garbage collector see what a bound object holds, so that users' cycles through it are collected.
#pragma once

#include <nanobind/nanobind.h>

namespace triton_inprocess {

/// What the type slots below call.
template <typename T>
struct GarbageCollection {
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
        finalize(self);
        return 0;
    }

    static void finalize(PyObject* self) {
        if (nanobind::inst_ready(self)) {
            nanobind::inst_ptr<T>(self)->let_go();
        }
    }
};

/// Type slots for a class that has `held()`, a range of the Python objects it holds (null ones are skipped), and
/// `let_go()`, which drops them.
template <typename T>
PyType_Slot* garbage_collection_slots() {
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&GarbageCollection<T>::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&GarbageCollection<T>::clear)},
                                  {0, nullptr}};
    return slots;
}

/// The same for a class whose `let_go()` calls Python functions: the collector has it let go while the other objects of
/// the garbage are still whole.
template <typename T>
PyType_Slot* finalized_garbage_collection_slots() {
    static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&GarbageCollection<T>::traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(&GarbageCollection<T>::clear)},
                                  {Py_tp_finalize, reinterpret_cast<void*>(&GarbageCollection<T>::finalize)},
                                  {0, nullptr}};
    return slots;
}

}  // namespace triton_inprocess
