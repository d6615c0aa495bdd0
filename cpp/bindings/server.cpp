#include "bindings/server.h"

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/gil.h"
#include "core/server.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// A method that releases the GIL around the whole call: anything that asks Triton can block.
template <typename Result, typename... Arguments>
auto released(Result (Server::*method)(Arguments...) const) {
    return [method](const Server& server, Arguments... arguments) {
        const ReleaseGil guard;
        return (server.*method)(arguments...);
    };
}

template <typename Result, typename... Arguments>
auto released(Result (Server::*method)(Arguments...)) {
    return [method](Server& server, Arguments... arguments) {
        const ReleaseGil guard;
        return (server.*method)(arguments...);
    };
}

void start(Server* server, const ServerOptions& options) {
    const ReleaseGil guard;
    new (server) Server(options);
}

}  // namespace

void register_server(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Server>(module, "Server", nb::intrusive_ptr<Server>([](Server* server, PyObject* self) noexcept {
                           server->set_self_py(self);
                       }),
                       "A running Triton server (TRITONSERVER_Server); JSON answers are texts.")
        .def("__init__", &start, "options"_a)
        .def_prop_ro("address",
                     [](const Server& server) {
                         const ServerUse use(server.state());
                         return reinterpret_cast<std::uintptr_t>(use.get());
                     })
        .def_prop_ro("running", [](const Server& server) { return server.state()->running(); })
        .def_prop_ro("use_count", [](const Server& server) { return server.state()->use_count(); })
        .def("stop_accepting",
             [](Server& server) {
                 const ReleaseGil guard;
                 server.state()->stop_accepting();
             })
        .def("stop", released(&Server::stop))
        .def("is_live", released(&Server::is_live))
        .def("is_ready", released(&Server::is_ready))
        .def("model_is_ready", released(&Server::model_is_ready), "name"_a, "version"_a)
        .def("model_batch_properties", released(&Server::model_batch_properties), "name"_a, "version"_a)
        .def("model_transaction_properties", released(&Server::model_transaction_properties), "name"_a, "version"_a)
        .def("metadata", released(&Server::metadata))
        .def("model_metadata", released(&Server::model_metadata), "name"_a, "version"_a)
        .def("model_statistics", released(&Server::model_statistics), "name"_a, "version"_a)
        .def("model_config", released(&Server::model_config), "name"_a, "version"_a, "config_version"_a)
        .def("model_index", released(&Server::model_index), "flags"_a)
        .def("metrics", released(&Server::metrics))
        .def("set_exit_timeout", released(&Server::set_exit_timeout), "seconds"_a)
        .def("poll_model_repository", released(&Server::poll_model_repository))
        .def("register_model_repository", released(&Server::register_model_repository), "path"_a, "name_mapping"_a)
        .def("unregister_model_repository", released(&Server::unregister_model_repository), "path"_a)
        .def("load_model", released(&Server::load_model), "name"_a)
        .def("unload_model", released(&Server::unload_model), "name"_a)
        .def("unload_model_and_dependents", released(&Server::unload_model_and_dependents), "name"_a);
}

}  // namespace triton_inprocess
