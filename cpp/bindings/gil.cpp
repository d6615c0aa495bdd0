#include "bindings/gil.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tensor/deferred_release.h"
#include "tensor/unlocked_wait.h"

namespace triton_inprocess {
namespace {

std::atomic<bool> shutting_down{false};
std::atomic<std::thread::id> finalizing_thread{};

[[noreturn]] void sleep_until_process_ends() noexcept {
    for (;;) {
        pause();
    }
}

/// Whether the calling thread has the GIL, as far as can be told; false when in doubt. PyGILState_Check would not do:
/// it says yes to everybody once there was a sub-interpreter. What tells the current thread state is not in the stable
/// ABI, so it is looked up: PyThreadState_GetUnchecked from 3.13 on, before that under its private name.
bool holds_gil() noexcept {
    using Current = PyThreadState* (*)();
    static const auto current = [] {
        void* symbol = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
        return reinterpret_cast<Current>(symbol != nullptr ? symbol
                                                           : dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet"));
    }();
    if (current == nullptr || shutting_down.load(std::memory_order_acquire)) {
        return false;
    }
    PyThreadState* const state = current();
    return state != nullptr && state == PyGILState_GetThisThreadState();
}

void sleep_if_shutting_down() noexcept {
    if (shutting_down.load(std::memory_order_acquire) && finalizing_thread.load() != std::this_thread::get_id()) {
        sleep_until_process_ends();
    }
}

// Before 3.14 CPython ends a thread that wants the GIL of a finalizing interpreter with pthread_exit, which unwinds
// its stack; here that must stop, at the innermost frame, before destructors run without the GIL.
template <typename Function>
auto without_unwinding(Function function) noexcept {
    try {
        return function();
    } catch (const abi::__forced_unwind&) {
        sleep_until_process_ends();
    }
}

void restore_thread(PyThreadState* state) noexcept {
    sleep_if_shutting_down();
    without_unwinding([state] { PyEval_RestoreThread(state); });
}

class CachedThreadState {
  public:
    ~CachedThreadState() {
        if (state_ != nullptr && !shutting_down.load(std::memory_order_acquire)) {
            restore_thread(state_);
            PyGILState_Release(ensured_);
        }
    }

    bool present() const noexcept { return state_ != nullptr; }

    void take() noexcept {
        if (state_ != nullptr) {
            restore_thread(state_);
        } else {
            sleep_if_shutting_down();
            ensured_ = without_unwinding([] { return PyGILState_Ensure(); });
        }
    }

    void give() noexcept { state_ = PyEval_SaveThread(); }

  private:
    PyThreadState* state_ = nullptr;
    PyGILState_STATE ensured_ = PyGILState_UNLOCKED;
};

thread_local CachedThreadState cached_thread_state;

int drop_pending(void* /*unused*/) noexcept;

class DeferredDrops {
  public:
    // Never destroyed: Triton's threads may still defer while the process ends.
    static DeferredDrops& instance() {
        static auto* drops = std::make_unique<DeferredDrops>().release();
        return *drops;
    }

    void add(PyObject* object) {
        const std::scoped_lock guard(mutex_);
        objects_.push_back(object);
        present_.store(true, std::memory_order_release);
    }

    /// Has the main thread drop them as soon as it runs Python code.
    void schedule() noexcept {
        const std::scoped_lock guard(mutex_);
        if (!objects_.empty() && !scheduled_ && !shutting_down.load(std::memory_order_acquire)) {
            scheduled_ = Py_AddPendingCall(drop_pending, nullptr) == 0;
        }
    }

    std::vector<PyObject*> take() noexcept {
        std::vector<PyObject*> taken;
        if (present_.load(std::memory_order_acquire)) {
            const std::scoped_lock guard(mutex_);
            taken.swap(objects_);
            present_.store(false, std::memory_order_release);
        }
        return taken;
    }

    // A thread of Triton's may be in here while the process forks, and the child would wait for it for ever.
    void before_fork() noexcept { mutex_.lock(); }
    void after_fork() noexcept { mutex_.unlock(); }

    void pending_call_comes() noexcept {
        const std::scoped_lock guard(mutex_);
        scheduled_ = false;
    }

  private:
    std::mutex mutex_;
    std::vector<PyObject*> objects_;
    std::atomic<bool> present_{false};
    bool scheduled_ = false;
};

// What the main thread does when nobody else came to drop the objects meanwhile.
int drop_pending(void* /*unused*/) noexcept {
    DeferredDrops::instance().pending_call_comes();
    drop_deferred();
    return 0;
}

}  // namespace

void begin_interpreter_shutdown() noexcept {
    finalizing_thread.store(std::this_thread::get_id());
    shutting_down.store(true, std::memory_order_release);
}

ReleaseGil::~ReleaseGil() {
    restore_thread(state_);
}

NativeThreadGil::NativeThreadGil() noexcept
    // A thread that Python itself started has a state of its own, which must not be kept beyond this use.
    : cached_(cached_thread_state.present() || PyGILState_GetThisThreadState() == nullptr) {
    if (cached_) {
        cached_thread_state.take();
    } else {
        sleep_if_shutting_down();
        state_ = without_unwinding([] { return PyGILState_Ensure(); });
    }
}

NativeThreadGil::~NativeThreadGil() {
    if (cached_) {
        cached_thread_state.give();
    } else {
        PyGILState_Release(state_);
    }
}

AnyThreadGil::AnyThreadGil() noexcept {
    if (!holds_gil()) {
        taken_.emplace();
    }
}

void report_on_native_thread(PyObject* context) noexcept {
    without_unwinding([context] { PyErr_WriteUnraisable(context); });
}

void normalize_on_native_thread(PyObject** type, PyObject** value, PyObject** traceback) noexcept {
    without_unwinding([=] { PyErr_NormalizeException(type, value, traceback); });
}

void clear_error_on_native_thread() noexcept {
    without_unwinding([] { PyErr_Clear(); });
}

PyObject* index_on_native_thread(PyObject* object) noexcept {
    return without_unwinding([object] { return PyNumber_Index(object); });
}

PyObject* str_on_native_thread(PyObject* object) noexcept {
    return without_unwinding([object] { return PyObject_Str(object); });
}

PyObject* repr_on_native_thread(PyObject* object) noexcept {
    return without_unwinding([object] { return PyObject_Repr(object); });
}

PyObject* attribute_on_native_thread(PyObject* object, const char* name) noexcept {
    return without_unwinding([=] { return PyObject_GetAttrString(object, name); });
}

void drop_on_native_thread(PyObject* object) noexcept {
    without_unwinding([object] { Py_XDECREF(object); });
}

PyObject* call_on_native_thread(PyObject* function, PyObject* arguments, PyObject* keywords) noexcept {
    return without_unwinding([=] { return PyObject_Call(function, arguments, keywords); });
}

void let_go(PyObject* object) noexcept {
    if (holds_gil()) {
        drop_on_native_thread(object);
        return;
    }
    try {
        DeferredDrops::instance().add(object);
        if (!DeferredRelease::consumer_comes()) {
            DeferredDrops::instance().schedule();
        }
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
        // Out of memory: the object is leaked, which is safe.
    }
}

void enable_deferred_drops() noexcept {
    DeferredRelease::set_ask([] { DeferredDrops::instance().schedule(); });
    const auto after_fork = [] { DeferredDrops::instance().after_fork(); };
    pthread_atfork([] { DeferredDrops::instance().before_fork(); }, after_fork, after_fork);
}

void enable_unlocked_waits() noexcept {
    static constexpr UnlockedWait::Lock lock = {
        []() noexcept -> void* { return holds_gil() ? PyEval_SaveThread() : nullptr; },
        [](void* state) noexcept { restore_thread(static_cast<PyThreadState*>(state)); }};
    UnlockedWait::set_lock(&lock);
}

void drop_deferred() noexcept {
    for (PyObject* object : DeferredDrops::instance().take()) {
        drop_on_native_thread(object);
    }
}

}  // namespace triton_inprocess
