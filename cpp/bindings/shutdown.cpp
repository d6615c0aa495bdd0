#include "bindings/shutdown.h"

#include "bindings/callback_scope.h"
#include "bindings/gil.h"
#include "core/server_registry.h"
#include "tensor/shared_memory_registry.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

// Called by an atexit hook after every server has been stopped.
void shut_down(bool threads_remain) {
    ServerRegistry& servers = ServerRegistry::instance();
    if (servers.delete_stopped() != 0 || threads_remain) {
        // Threads that go on keep what they use until the process ends: that is no leak to warn of.
        nb::set_leak_warnings(false);
    }
    drop_deferred();
    SharedMemoryRegistry::instance().leave();
    servers.prepare_exit();
    begin_interpreter_shutdown();
}

}  // namespace

void register_shutdown(nb::module_& module) {
    using namespace nb::literals;
    module.def("shut_down", &shut_down, "threads_remain"_a,
               "Prepare for the end of the interpreter; every server has been stopped. `threads_remain`: whether other "
               "Python threads still run.");
    module.def(
        "in_callback", &CallbackScope::inside,
        "Whether this thread is inside a call of Triton's to a function given to `capi`, which Triton waits for.");
}

}  // namespace triton_inprocess
