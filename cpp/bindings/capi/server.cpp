#include "bindings/capi/server.h"

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/capi/inference_request.h"
#include "bindings/capi/inference_trace.h"
#include "bindings/gil.h"
#include "core/server.h"
#include "runtime/error.h"

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

std::pair<std::uint32_t, std::uintptr_t> pair_of(const Server::Properties& properties) {
    return {properties.flags, reinterpret_cast<std::uintptr_t>(properties.pointer)};
}

std::vector<const Parameter*> require_parameters(const char* argument, const std::vector<const Parameter*>& given) {
    for (const Parameter* const parameter : given) {
        if (parameter == nullptr) {
            throw nb::type_error(
                (std::string(argument) + " must be a list of TRITONSERVER_Parameter, not with None in it").c_str());
        }
    }
    return given;
}

void infer_async(Server& server, nb::handle request_object, const CapiTrace* trace) {
    auto& request = instance_argument<CapiRequest>("request", "a TRITONSERVER_InferenceRequest", request_object);
    if (&request.block()->server() != server.state().get()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the request was made for another server");
    }
    RequestBlock::Submission submission;
    if (trace != nullptr) {
        submission.trace = trace->get();
    }
    Ref<PythonRequestObserver> observer = request.observe(nb::borrow(request_object));
    submission.allocator = observer->c_allocator();
    submission.placement = submission.allocator != nullptr ? observer.get() : nullptr;
    submission.observer = std::move(observer);
    const Ref<RequestBlock> block = request.block();
    const DropDeferred afterwards;  // what a failure has let go
    const ReleaseGil released;
    block->submit(std::move(submission));
}

LoadGate::Deadline deadline_in(double seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr double longest = 1e9;  // beyond that a clock may overflow
    const std::chrono::duration<double> wait(seconds < longest ? seconds : longest);
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
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
                       "What TRITONSERVER_Server of capi is in C++.")
        .def("__init__", &start, "options"_a)
        .def_prop_ro(
            "address",
            [](const Server& server) {
                const ServerUse use(server.state());
                return reinterpret_cast<std::uintptr_t>(use.get());
            },
            "The address of the C object.")
        .def_prop_ro(
            "running", [](const Server& server) { return server.state()->running(); },
            "Whether it is neither stopped nor of the process that this one was forked from.")
        .def_prop_ro(
            "use_count", [](const Server& server) { return server.state()->use_count(); },
            "Calls, requests and responses that need the C object.")
        .def(
            "stop_accepting",
            [](Server& server, double load_timeout) {
                const ReleaseGil guard;
                return server.state()->stop_accepting(deadline_in(load_timeout));
            },
            "load_timeout"_a,
            "Take no model any more, wait for loads in progress, at most so many seconds, and take no request any "
            "more. "
            "Whether no load goes on.")
        .def(
            "stop_within",
            [](Server& server, double load_timeout) {
                const ReleaseGil guard;
                server.stop(deadline_in(load_timeout));
            },
            "load_timeout"_a,
            "Wait until every request is answered and every model is gone (TRITONSERVER_ServerStop), at most for the "
            "exit timeout; then the C object is deleted as soon as that is safe. Stopping again does nothing.\n\n"
            "Raises InternalError when the exit timeout has passed, and UnavailableError when a load still goes on "
            "after `load_timeout` seconds: the C object is left behind then.")
        .def(
            "give_up", [](Server& server) { server.state()->give_up(); },
            "Leave the C object behind without a stop: it accepts no call any more.")
        .def("set_exit_timeout", released(&Server::set_exit_timeout), "timeout"_a,
             "Seconds that `stop` may take (TRITONSERVER_ServerSetExitTimeout, from C API 1.30).")
        .def(
            "register_model_repository",
            [](Server& server, const std::string& path, const std::vector<const Parameter*>& name_mapping) {
                const auto parameters = require_parameters("name_mapping", name_mapping);
                const ReleaseGil guard;
                server.register_model_repository(path, parameters);
            },
            "repository_path"_a, "name_mapping"_a,
            "Add a repository in explicit mode; STRING parameters give folders other names "
            "(TRITONSERVER_ServerRegisterModelRepository).")
        .def("unregister_model_repository", released(&Server::unregister_model_repository), "repository_path"_a,
             "Remove a repository (TRITONSERVER_ServerUnregisterModelRepository).")
        .def("poll_model_repository", released(&Server::poll_model_repository),
             "Look for changes in the repositories, in mode POLL (TRITONSERVER_ServerPollModelRepository).")
        .def("is_live", released(&Server::is_live), "Whether the server lives (TRITONSERVER_ServerIsLive).")
        .def("is_ready", released(&Server::is_ready),
             "Whether the server and, with strict readiness, its models can be used (TRITONSERVER_ServerIsReady).")
        .def("model_is_ready", released(&Server::model_is_ready), "model_name"_a, "model_version"_a,
             "Whether a model can be used (TRITONSERVER_ServerModelIsReady).")
        .def(
            "model_batch_properties",
            [](const Server& server, const std::string& name, std::int64_t version) {
                const ReleaseGil guard;
                return pair_of(server.model_batch_properties(name, version));
            },
            "model_name"_a, "model_version"_a,
            "Bits of TRITONSERVER_ModelBatchFlag, and an address, 0 for now (TRITONSERVER_ServerModelBatchProperties).")
        .def(
            "model_transaction_properties",
            [](const Server& server, const std::string& name, std::int64_t version) {
                const ReleaseGil guard;
                return pair_of(server.model_transaction_properties(name, version));
            },
            "model_name"_a, "model_version"_a,
            "Bits of TRITONSERVER_ModelTxnPropertyFlag, and an address, 0 for now "
            "(TRITONSERVER_ServerModelTransactionProperties).")
        .def("metadata", released(&Server::metadata), "Name, version and extensions (TRITONSERVER_ServerMetadata).")
        .def("model_metadata", released(&Server::model_metadata), "model_name"_a, "model_version"_a,
             "Versions, inputs and outputs of a model (TRITONSERVER_ServerModelMetadata).")
        .def("model_statistics", released(&Server::model_statistics), "model_name"_a, "model_version"_a,
             "Statistics of a model; of all with the empty name (TRITONSERVER_ServerModelStatistics).")
        .def("model_config", released(&Server::model_config), "model_name"_a, "model_version"_a, "config_version"_a,
             "The configuration of a model; `config_version` is 1 (TRITONSERVER_ServerModelConfig).")
        .def("model_index", released(&Server::model_index), "flags"_a,
             "The models of the repositories; `flags` are bits of TRITONSERVER_ModelIndexFlag "
             "(TRITONSERVER_ServerModelIndex).")
        .def("load_model", released(&Server::load_model), "model_name"_a,
             "Load a model, or load it again, in explicit mode (TRITONSERVER_ServerLoadModel).")
        .def(
            "load_model_with_parameters",
            [](Server& server, const std::string& name, const std::vector<const Parameter*>& given) {
                const auto parameters = require_parameters("parameters", given);
                const ReleaseGil guard;
                server.load_model_with_parameters(name, parameters);
            },
            "model_name"_a, "parameters"_a,
            "Load a model with the configuration of parameter `config` (JSON) and, if given, files of parameters "
            "`file:<version>/<name>` (TRITONSERVER_ServerLoadModelWithParameters).")
        .def("unload_model", released(&Server::unload_model), "model_name"_a,
             "Unload a model, in explicit mode; it goes when its last request is answered "
             "(TRITONSERVER_ServerUnloadModel).")
        .def("unload_model_and_dependents", released(&Server::unload_model_and_dependents), "model_name"_a,
             "The same with the models that only it needs (TRITONSERVER_ServerUnloadModelAndDependents).")
        .def("metrics", released(&Server::metrics),
             "What the server measures (TRITONSERVER_ServerMetrics); nothing when metrics are off.")
        .def(
            "infer_async", &infer_async, "request"_a, "trace"_a.none() = nb::none(),
            nb::sig(
                "def infer_async(self, request: TRITONSERVER_InferenceRequest, trace: TRITONSERVER_InferenceTrace | "
                "None = None) -> None"),
            "Send a request (TRITONSERVER_ServerInferAsync). It and the trace are Triton's until they are released.\n\n"
            "When this raises, the request is as before and can be sent again, no callback comes, and the trace is "
            "gone. Raises UnavailableError for a request in flight and for a trace that was sent before.");
}

}  // namespace triton_inprocess
