// Taking and giving the GIL where the plain API is not enough: native threads, interpreter shutdown, deferred drops.
#pragma once

#include <Python.h>

namespace triton_inprocess {

/// From now on only the calling thread, which ends the interpreter, may take the GIL through this file; others sleep
/// until the process is gone. A thread that took it while the interpreter finalizes would abort the process.
void begin_interpreter_shutdown() noexcept;

/// Releases the GIL for as long as this object lives.
class ReleaseGil {
  public:
    ReleaseGil() noexcept : state_(PyEval_SaveThread()) {}
    ~ReleaseGil();
    ReleaseGil(const ReleaseGil&) = delete;
    ReleaseGil& operator=(const ReleaseGil&) = delete;

  private:
    PyThreadState* state_;
};

/// Holds the GIL on one of Triton's threads. The thread keeps its Python thread state between uses: making one each
/// time costs 6 µs from Python 3.11 on.
class NativeThreadGil {
  public:
    NativeThreadGil() noexcept;
    ~NativeThreadGil();
    NativeThreadGil(const NativeThreadGil&) = delete;
    NativeThreadGil& operator=(const NativeThreadGil&) = delete;

  private:
    bool cached_;
    PyGILState_STATE state_ = PyGILState_UNLOCKED;
};

/// PyObject_Call for Triton's threads: if the interpreter ends during the call, the thread sleeps instead of being
/// unwound through frames that must not be.
PyObject* call_on_native_thread(PyObject* function, PyObject* arguments, PyObject* keywords) noexcept;

/// Gives up a reference, with or without the GIL. Without, it is dropped by the next holder of the GIL that calls
/// `drop_deferred`, at the latest by the main thread.
void let_go(PyObject* object) noexcept;

/// Makes the main thread drop what was deferred when nobody else comes for it; called once.
void enable_deferred_drops() noexcept;

/// Drops what was deferred; needs the GIL. Cheap when there is nothing.
void drop_deferred() noexcept;

}  // namespace triton_inprocess
