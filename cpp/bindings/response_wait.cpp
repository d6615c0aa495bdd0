#include "bindings/response_wait.h"

#include <memory>
#include <tuple>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/async_response_iterator.h"
#include "bindings/cached_attribute.h"
#include "bindings/errors.h"
#include "bindings/event_loop_hub.h"
#include "bindings/garbage_collection.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute expire_function("triton_inprocess._event_loop", "expire_after");
CachedAttribute cancelled_error("asyncio", "CancelledError");
CachedAttribute copy_context("contextvars", "copy_context");

// The slots and methods below are called as they are, without nanobind's dispatch: a task calls each once a response.

/// What `function` returns for the wait behind `self`; what it throws becomes Python's error, and null.
template <typename Function>
PyObject* translated(PyObject* self, Function function) noexcept {
    try {
        require_initialized("self", self);
        return function(*nb::inst_ptr<ResponseWait>(self));
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const Error& error) {
        const nb::object exception = to_exception(error);
        PyErr_SetObject(exception.type().ptr(), exception.ptr());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_TypeError, error.what());  // require_initialized's
    }
    return nullptr;
}

PyObject* itself(PyObject* self) noexcept {
    return nb::borrow(self).release().ptr();
}

PyObject* truth(bool value) noexcept {
    return itself(value ? Py_True : Py_False);
}

PySendResult send(PyObject* self, PyObject* /*value*/, PyObject** result) noexcept {
    bool waiting = false;
    *result = translated(self, [&](ResponseWait& wait) {
        nb::object response = wait.send(self);
        waiting = !response.is_valid();
        return waiting ? itself(self) : response.release().ptr();
    });
    return *result == nullptr ? PYGEN_ERROR : waiting ? PYGEN_NEXT : PYGEN_RETURN;
}

PyObject* iterate(PyObject* self) noexcept {
    return translated(self, [&](ResponseWait& /*wait*/) { return itself(self); });
}

PyObject* next(PyObject* self) noexcept {
    PyObject* result = nullptr;
    if (send(self, nullptr, &result) == PYGEN_RETURN) {
        const nb::object response = nb::steal(result);
        PyErr_SetObject(PyExc_StopIteration, response.ptr());
        return nullptr;
    }
    return result;
}

PyObject* send_value(PyObject* self, PyObject* /*value*/) noexcept {
    return next(self);
}

PyObject* throw_error(PyObject* self, PyObject* arguments) noexcept {
    PyObject* error = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    if (PyArg_UnpackTuple(arguments, "throw", 1, 3, &error, &value, &traceback) == 0) {
        return nullptr;
    }
    return translated(self, [&](ResponseWait& wait) -> PyObject* {
        wait.give_up();
        if (PyExceptionInstance_Check(error)) {
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
        } else if (PyExceptionClass_Check(error)) {
            PyErr_SetObject(error, value);
        } else {
            PyErr_SetString(PyExc_TypeError, "exceptions must be classes or instances deriving from BaseException");
        }
        return nullptr;
    });
}

PyObject* close(PyObject* self, PyObject* /*unused*/) noexcept {
    return translated(self, [](ResponseWait& wait) {
        wait.give_up();
        return itself(Py_None);
    });
}

PyObject* get_blocking(PyObject* self, void* /*closure*/) noexcept {
    return translated(self, [](const ResponseWait& wait) {
        // asyncio takes for a future whatever has something else than None here; before it waits it is an awaitable.
        return wait.state() == ResponseWait::State::fresh ? itself(Py_None) : truth(wait.blocking());
    });
}

int set_blocking(PyObject* self, PyObject* value, void* /*closure*/) noexcept {
    const nb::object done = nb::steal(translated(self, [&](ResponseWait& wait) {
        wait.set_blocking(value == Py_True);
        return itself(Py_None);
    }));
    return done.is_valid() ? 0 : -1;
}

PyObject* get_loop(PyObject* self, PyObject* /*unused*/) noexcept {
    return translated(
        self, [](const ResponseWait& wait) { return itself(wait.loop().is_valid() ? wait.loop().ptr() : Py_None); });
}

PyObject* add_done_callback(PyObject* self, PyObject* arguments, PyObject* keywords) noexcept {
    static const char* names[] = {"", "context", nullptr};
    PyObject* callback = nullptr;
    PyObject* context = nullptr;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): Python before 3.13 declares it without const
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$O", const_cast<char**>(names), &callback, &context) == 0) {
        return nullptr;
    }
    return translated(self, [&](ResponseWait& wait) {
        wait.add_done_callback(nb::borrow(callback), context != nullptr ? nb::borrow(context) : copy_context.get()());
        return itself(Py_None);
    });
}

PyObject* get_result(PyObject* self, PyObject* /*unused*/) noexcept {
    return translated(self, [](const ResponseWait& wait) {
        wait.result();
        return itself(Py_None);
    });
}

PyObject* is_done(PyObject* self, PyObject* /*unused*/) noexcept {
    return translated(self, [](const ResponseWait& wait) { return truth(wait.state() >= ResponseWait::State::due); });
}

PyObject* is_cancelled(PyObject* self, PyObject* /*unused*/) noexcept {
    return translated(self,
                      [](const ResponseWait& wait) { return truth(wait.state() == ResponseWait::State::cancelled); });
}

PyObject* cancel(PyObject* self, PyObject* arguments, PyObject* keywords) noexcept {
    static const char* names[] = {"msg", nullptr};
    PyObject* message = Py_None;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): as above
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "|O", const_cast<char**>(names), &message) == 0) {
        return nullptr;
    }
    return translated(self, [&](ResponseWait& wait) { return truth(wait.cancel(nb::borrow(message))); });
}

template <typename Function>
PyCFunction method(Function function) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {{"send", method(&send_value), METH_O, nullptr},
                         {"throw", method(&throw_error), METH_VARARGS, nullptr},
                         {"close", method(&close), METH_NOARGS, nullptr},
                         {"get_loop", method(&get_loop), METH_NOARGS, nullptr},
                         {"add_done_callback", method(&add_done_callback), METH_VARARGS | METH_KEYWORDS, nullptr},
                         {"result", method(&get_result), METH_NOARGS, nullptr},
                         {"done", method(&is_done), METH_NOARGS, nullptr},
                         {"cancelled", method(&is_cancelled), METH_NOARGS, nullptr},
                         {"cancel", method(&cancel), METH_VARARGS | METH_KEYWORDS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"_asyncio_future_blocking", &get_blocking, &set_blocking, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

using Collection = GarbageCollection<ResponseWait>;
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&Collection::traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&Collection::clear)},
                       {Py_am_await, reinterpret_cast<void*>(&iterate)},
                       {Py_am_send, reinterpret_cast<void*>(&send)},
                       {Py_tp_iter, reinterpret_cast<void*>(&iterate)},
                       {Py_tp_iternext, reinterpret_cast<void*>(&next)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};

}  // namespace

ResponseWait::ResponseWait(nb::object iterator) : iterator_(std::move(iterator)) {
    std::tie(loop_, hub_) = running_loop_and_hub();
    this->iterator().require_no_wait();
}

AsyncResponseIterator& ResponseWait::iterator() const noexcept {
    return *nb::inst_ptr<AsyncResponseIterator>(iterator_);
}

nb::object ResponseWait::send(nb::handle self) {
    if (state_ == State::over || !iterator_.is_valid()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the response was awaited already");
    }
    const bool waited = state_ != State::fresh;
    const nb::object kept = iterator_;
    if (waited) {
        unwatch();
    } else {
        iterator().begin_wait(*this);
    }
    do {
        std::unique_ptr<InferenceResponse> response;
        try {
            response = iterator().take(waited);
        } catch (...) {
            end();
            throw;
        }
        if (response) {
            end();
            return nb::inst_ptr<AsyncResponseIterator>(kept)->deliver(std::move(response));
        }
    } while (!watch(self));
    return {};
}

bool ResponseWait::watch(nb::handle self) {
    auto& hub = nb::cast<EventLoopHub&>(hub_);
    self_ = self.ptr();
    if (!hub.watch(*iterator().queue(), *this)) {
        return false;
    }
    state_ = State::waiting;
    blocking_ = true;
    const Deadline& deadline = iterator().request().deadline();
    if (deadline.exists() && !timer_.is_valid()) {
        const std::chrono::duration<double> remaining = deadline.remaining();
        timer_ = expire_function.get()(loop_, self, remaining.count());
    }
    return true;
}

void ResponseWait::unwatch() noexcept {
    if (state_ == State::waiting) {
        iterator().queue()->unwatch();
        state_ = State::due;
    }
}

void ResponseWait::add_done_callback(nb::object callback, nb::object context) {
    if (callback_.is_valid()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "another task is waiting for the same response already");
    }
    callback_ = std::move(callback);
    context_ = std::move(context);
    if (state_ != State::waiting) {
        wake_soon();
    }
}

void ResponseWait::result() const {
    if (state_ == State::cancelled) {
        if (message_.is_none()) {
            PyErr_SetNone(cancelled_error.get().ptr());
        } else {
            PyErr_SetObject(cancelled_error.get().ptr(), message_.ptr());
        }
        throw nb::python_error();
    }
}

bool ResponseWait::cancel(nb::object message) {
    if (state_ != State::waiting) {
        return false;
    }
    unwatch();
    state_ = State::cancelled;
    iterator().end_wait(*this);  // the next one may ask at once
    message_ = std::move(message);
    wake_soon();
    return true;
}

bool ResponseWait::waits_with(const EventLoopHub& hub) const noexcept {
    return hub_.is_valid() && nb::inst_ptr<EventLoopHub>(hub_) == &hub;
}

void ResponseWait::wake() {
    unwatch();
    const nb::object callback = std::move(callback_);
    const nb::object context = std::move(context_);
    if (callback.is_valid()) {
        context.attr("run")(callback, nb::borrow(self_));
    }
}

void ResponseWait::wake_soon() {
    unwatch();
    const nb::object callback = std::move(callback_);
    const nb::object context = std::move(context_);
    if (callback.is_valid()) {
        loop_.attr("call_soon_threadsafe")(callback, nb::borrow(self_), nb::arg("context") = context);
    }
}

void ResponseWait::expire() {
    timer_.reset();
    wake_soon();
}

void ResponseWait::give_up() noexcept {
    const nb::object kept = iterator_;
    const bool waited = state_ != State::over;
    end();
    if (waited && kept.is_valid()) {
        nb::inst_ptr<AsyncResponseIterator>(kept)->forget();
    }
}

void ResponseWait::end() noexcept {
    if (state_ == State::over || !iterator_.is_valid()) {
        return;
    }
    unwatch();
    state_ = State::over;
    iterator().end_wait(*this);
    const nb::object timer = std::move(timer_);
    if (timer.is_valid()) {
        try {
            timer.attr("cancel")();
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("cancelling the timer of a deadline");
        }
    }
    let_go();
}

void ResponseWait::let_go() noexcept {
    end();
    iterator_.reset();
    loop_.reset();
    hub_.reset();
    callback_.reset();
    context_.reset();
    message_.reset();
}

nb::object make_response_wait(nb::handle iterator) {
    nb::object wait = nb::inst_alloc(nb::type<ResponseWait>());
    new (nb::inst_ptr<ResponseWait>(wait)) ResponseWait(nb::borrow(iterator));
    nb::inst_mark_ready(wait);
    return wait;
}

void register_response_wait(nb::module_& module) {
    nb::class_<ResponseWait>(module, "ResponseWait", nb::type_slots(slots), "What a coroutine awaits: a response.")
        .def("expire", &ResponseWait::expire, "Called at the deadline.");
}

}  // namespace triton_inprocess
