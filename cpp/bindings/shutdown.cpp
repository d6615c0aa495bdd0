#include "bindings/shutdown.h"

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "bindings/callback_scope.h"
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
    if (servers.delete_stopped() != 0 || others_remain) {
        // Threads that go on keep what they use until the process ends: that is no leak to warn of.
        nb::set_leak_warnings(false);
    }
    drop_deferred();
    SharedMemoryRegistry::instance().leave();
    servers.prepare_exit();
    begin_interpreter_shutdown();
}

// How often what a signal handler raised may end the polite stop of the servers before they are stopped all the same.
constexpr int most_interruptions = 8;

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

/// Whether threads of Python's other than this one may hold objects of ours for good.
bool threads_remain(FirstException& interruption) {
    // A forked child has the stacks of its parent's threads, and what they hold.
    if (getpid() != imported_in) {
        return true;
    }
    const nb::object count = interruption.call([] { return nb::module_::import_("threading").attr("active_count")(); });
    const nb::object calls =
        interruption.call([] { return nb::module_::import_("triton_inprocess._background").attr("thread_ids")(); });
    // Threads that are no daemons have ended by now.
    return !count.is_valid() || count.not_equal(nb::int_(1)) || !calls.is_valid() || nb::len(calls) != 0;
}

// An atexit hook. It is C++, where no signal handler runs: one that raises, as that of Ctrl-C does, may end any Python
// function at any line, and with a server left running Triton's threads would meet an interpreter that is no more.
void end_interpreter(const nb::callable& stop_servers) {
    FirstException interruption;
    for (int i = 0; i != most_interruptions; ++i) {
        if (interruption.call([&] { return stop_servers(); }).is_valid()) {
            break;
        }
    }
    const bool others = threads_remain(interruption);
    {
        const ReleaseGil guard;
        ServerRegistry::instance().stop_all();
    }
    interruption.report(stop_servers);
    shut_down(others);
}

}  // namespace

void register_shutdown(nb::module_& module) {
    using namespace nb::literals;
    imported_in = getpid();
    module.def("end_interpreter", &end_interpreter, "stop_servers"_a,
               nb::sig("def end_interpreter(stop_servers: collections.abc.Callable[[], object]) -> None"),
               "Prepare for the end of the interpreter: call `stop_servers`, again when it was interrupted, stop what "
               "still runs, and tell sys.unraisablehook what interrupted it.");
    module.def(
        "in_callback", &CallbackScope::inside,
        "Whether this thread is inside a call of Triton's to a function given to `capi`, which Triton waits for.");
}

}  // namespace triton_inprocess
