#include "bindings/shutdown.h"

#include <sys/types.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <utility>

#include "bindings/allocated_buffer.h"
#include "bindings/cached_attribute.h"
#include "bindings/callback_scope.h"
#include "bindings/deferred_signals.h"
#include "bindings/gil.h"
#include "core/server_registry.h"
#include "tensor/shared_memory_registry.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

pid_t imported_in = 0;

// Every server has been stopped.
void shut_down(bool others_remain) {
    ServerRegistry& servers = ServerRegistry::instance();
    if (servers.delete_stopped() != 0 || others_remain || AllocatedBuffer::any()) {
        // Threads that go on, and arrays, keep what they use until the process ends: that is no leak to warn of.
        nb::set_leak_warnings(false);
    }
    drop_deferred();
    SharedMemoryRegistry::instance().leave();
    servers.prepare_exit();
    begin_interpreter_shutdown();
}

CachedAttribute getsignal("_signal", "getsignal");

/// The first exception of several, which is told about when everything has been stopped.
class FirstException {
  public:
    /// Calls the function; not valid when it raised.
    template <typename Function>
    nb::object call(Function function) {
        try {
            return function();
        } catch (nb::python_error& error) {
            if (!first_) {
                first_.emplace(std::move(error));
            }
        }
        return nb::object();
    }

    void report(nb::handle where) {
        if (first_) {
            first_->discard_as_unraisable(where);
        }
    }

  private:
    std::optional<nb::python_error> first_;
};

/// Runs the handlers of the signals that have come.
void handle_signals(FirstException& interruption) {
    for (int i = 0; i != NSIG; ++i) {
        const nb::object none = interruption.call([] {
            if (PyErr_CheckSignals() != 0) {
                throw nb::python_error();
            }
            return nb::none();
        });
        if (none.is_valid()) {
            return;
        }
    }
}

// An atexit hook. It is C++, where no signal handler runs: one that raises, as that of Ctrl-C does, may end any Python
// function at any line, and with a server left running Triton's threads would meet an interpreter that is no more.
void end_interpreter(const nb::callable& stop_servers) {
    FirstException interruption;
    // A forked child has the stacks of its parent's threads, and what they hold.
    bool threads_remain = getpid() != imported_in;
    {
        const DeferredSignals signals(getsignal.get());
        handle_signals(interruption);
        const nb::object others = interruption.call([&] { return stop_servers(); });
        threads_remain = threads_remain || !others.is_valid() || others.ptr() != Py_False;
        const ReleaseGil guard;
        ServerRegistry::instance().stop_all();
    }
    interruption.report(stop_servers);
    shut_down(threads_remain);
}

}  // namespace

void register_shutdown(nb::module_& module) {
    using namespace nb::literals;
    imported_in = getpid();
    getsignal.get();  // an import can run Python code, which is too late at the end
    module.def("end_interpreter", &end_interpreter, "stop_servers"_a,
               nb::sig("def end_interpreter(stop_servers: collections.abc.Callable[[], bool]) -> None"),
               "Prepare for the end of the interpreter: call `stop_servers`, which returns whether threads remain, "
               "without being interrupted by a signal, and stop what still runs.");
    module.def(
        "in_callback", &CallbackScope::inside,
        "Whether this thread is inside a call of Triton's to a function given to `capi`, which Triton waits for.");
}

}  // namespace triton_inprocess
