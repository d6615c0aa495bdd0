// Taking and giving the GIL where the plain API is not enough: native threads, interpreter shutdown, deferred drops.
#pragma once

#include <Python.h>

#include <cstddef>
#include <optional>

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

/// Releases it for work on so many bytes, if that takes longer than giving the GIL away and getting it back.
class ReleaseGilIfLarge {
  public:
    explicit ReleaseGilIfLarge(std::size_t byte_size) noexcept {
        if (byte_size >= large) {
            released_.emplace();
        }
    }

  private:
    static constexpr std::size_t large = std::size_t{256} << 10;
    std::optional<ReleaseGil> released_;
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

/// Holds the GIL on any thread: one of Python's that has it or has released it, or one of Triton's.
class AnyThreadGil {
  public:
    AnyThreadGil() noexcept;

  private:
    std::optional<NativeThreadGil> taken_;
};

// What follows is for Triton's threads, wherever Python code may run (a function, a method, a destructor): if the
// interpreter ends meanwhile, the thread sleeps instead of being unwound through frames that must not be.

/// PyObject_Call; null with an error set, as there.
PyObject* call_on_native_thread(PyObject* function, PyObject* arguments, PyObject* keywords) noexcept;

/// PyErr_NormalizeException.
void normalize_on_native_thread(PyObject** type, PyObject** value, PyObject** traceback) noexcept;

/// Tells sys.unraisablehook of the pending exception, which nobody can receive, and clears it; `context` is what
/// raised it.
void report_on_native_thread(PyObject* context) noexcept;

/// PyErr_Clear.
void clear_error_on_native_thread() noexcept;

/// PyNumber_Index, PyObject_Str, PyObject_Repr and PyObject_GetAttrString.
PyObject* index_on_native_thread(PyObject* object) noexcept;
PyObject* str_on_native_thread(PyObject* object) noexcept;
PyObject* repr_on_native_thread(PyObject* object) noexcept;
PyObject* attribute_on_native_thread(PyObject* object, const char* name) noexcept;

/// Py_XDECREF.
void drop_on_native_thread(PyObject* object) noexcept;

/// A reference that is dropped by `drop_on_native_thread`.
class NativeThreadObject {
  public:
    explicit NativeThreadObject(PyObject* owned) noexcept : object_(owned) {}
    ~NativeThreadObject() { drop_on_native_thread(object_); }
    NativeThreadObject(const NativeThreadObject&) = delete;
    NativeThreadObject& operator=(const NativeThreadObject&) = delete;

    PyObject* get() const noexcept { return object_; }

  private:
    PyObject* object_;
};

/// Gives up a reference, with or without the GIL. Without, it is dropped by the next holder of the GIL that calls
/// `drop_deferred`, at the latest by the main thread.
void let_go(PyObject* object) noexcept;

/// Makes the main thread drop what was deferred when nobody else comes for it; called once.
void enable_deferred_drops() noexcept;

/// Has whatever lets go of a GPU's memory give the GIL up while it waits for the GPU; called once.
void enable_unlocked_waits() noexcept;

/// Drops what was deferred; needs the GIL. Cheap when there is nothing.
void drop_deferred() noexcept;

/// Does so at its end.
class DropDeferred {
  public:
    DropDeferred() = default;
    ~DropDeferred() { drop_deferred(); }
    DropDeferred(const DropDeferred&) = delete;
    DropDeferred& operator=(const DropDeferred&) = delete;
};

}  // namespace triton_inprocess
