#include "bindings/capi/server_options.h"

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/stl/string.h>

#include <string>
#include <type_traits>

#include "bindings/runtime.h"
#include "core/c_text.h"
#include "core/json_depth.h"
#include "core/server_options.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// How a method takes what the C API takes: a text as one that is checked.
template <typename Argument>
using Taken = std::conditional_t<std::is_same_v<Argument, const char*>, const std::string&, Argument>;

template <typename Argument>
Argument passed(Taken<Argument> argument) {
    if constexpr (std::is_same_v<Argument, const char*>) {
        return c_text(argument, "a text");
    } else {
        return argument;
    }
}

/// A method for an option function of the C API.
template <typename... Arguments>
auto setter(TRITONSERVER_Error* (*FunctionTable::*function)(TRITONSERVER_ServerOptions*, Arguments...)) {
    return [function](ServerOptions& options, Taken<Arguments>... arguments) {
        check((api().*function)(options.get(), passed<Arguments>(arguments)...));
    };
}

/// The library ends the process when it cannot start as many threads.
constexpr unsigned most_threads = 1024;

auto thread_count_setter(TRITONSERVER_Error* (*FunctionTable::*function)(TRITONSERVER_ServerOptions*, unsigned)) {
    return [function](ServerOptions& options, unsigned count) {
        if (count > most_threads) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the count of threads must be from 0 to " +
                                                            std::to_string(most_threads) + ", not " +
                                                            std::to_string(count));
        }
        check((api().*function)(options.get(), count));
    };
}

void set_cache_config(ServerOptions& options, const std::string& name, const std::string& config_json) {
    check_json_depth(config_json);
    check(api().TRITONSERVER_ServerOptionsSetCacheConfig(options.get(), c_text(name, "cache_name"),
                                                         c_text(config_json, "config_json")));
}

}  // namespace

void register_server_options(nb::module_& module) {
    using namespace nb::literals;
    using Table = FunctionTable;
    nb::class_<ServerOptions>(module, "ServerOptions",
                              nb::intrusive_ptr<ServerOptions>(
                                  [](ServerOptions* options, PyObject* self) noexcept { options->set_self_py(self); }),
                              "The C API's server options (TRITONSERVER_ServerOptions).")
        .def(
            "__init__",
            [](ServerOptions* self) {
                ensure_runtime();
                new (self) ServerOptions();
            },
            "The library's defaults, but no retries of failing loads and peer access on, which it leaves to chance "
            "(TRITONSERVER_ServerOptionsNew).")
        .def("set_server_id", setter(&Table::TRITONSERVER_ServerOptionsSetServerId), "server_id"_a)
        .def("set_model_repository_path", setter(&Table::TRITONSERVER_ServerOptionsSetModelRepositoryPath), "path"_a)
        .def("set_model_control_mode", setter(&Table::TRITONSERVER_ServerOptionsSetModelControlMode), "mode"_a)
        .def("set_startup_model", setter(&Table::TRITONSERVER_ServerOptionsSetStartupModel), "model_name"_a)
        .def("set_strict_model_config", setter(&Table::TRITONSERVER_ServerOptionsSetStrictModelConfig), "strict"_a)
        .def("set_model_config_name", setter(&Table::TRITONSERVER_ServerOptionsSetModelConfigName), "name"_a)
        .def("set_rate_limiter_mode", setter(&Table::TRITONSERVER_ServerOptionsSetRateLimiterMode), "mode"_a)
        .def("add_rate_limiter_resource", setter(&Table::TRITONSERVER_ServerOptionsAddRateLimiterResource), "name"_a,
             "count"_a, "device"_a)
        .def("set_pinned_memory_pool_byte_size", setter(&Table::TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize),
             "byte_size"_a)
        .def("set_cuda_memory_pool_byte_size", setter(&Table::TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize),
             "device"_a, "byte_size"_a)
        .def("set_cuda_virtual_address_size", setter(&Table::TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize),
             "device"_a, "byte_size"_a)
        .def("set_response_cache_byte_size", setter(&Table::TRITONSERVER_ServerOptionsSetResponseCacheByteSize),
             "byte_size"_a)
        .def("set_cache_config", &set_cache_config, "name"_a, "config_json"_a)
        .def("set_cache_directory", setter(&Table::TRITONSERVER_ServerOptionsSetCacheDirectory), "path"_a)
        .def("set_min_supported_compute_capability",
             setter(&Table::TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability), "capability"_a)
        .def("set_exit_on_error", setter(&Table::TRITONSERVER_ServerOptionsSetExitOnError), "exit"_a)
        .def("set_strict_readiness", setter(&Table::TRITONSERVER_ServerOptionsSetStrictReadiness), "strict"_a)
        .def("set_exit_timeout", setter(&Table::TRITONSERVER_ServerOptionsSetExitTimeout), "seconds"_a)
        .def("set_buffer_manager_thread_count",
             thread_count_setter(&Table::TRITONSERVER_ServerOptionsSetBufferManagerThreadCount), "count"_a)
        .def("set_model_load_thread_count",
             thread_count_setter(&Table::TRITONSERVER_ServerOptionsSetModelLoadThreadCount), "count"_a)
        .def("set_model_load_retry_count", setter(&Table::TRITONSERVER_ServerOptionsSetModelLoadRetryCount), "count"_a)
        .def("set_model_namespacing", setter(&Table::TRITONSERVER_ServerOptionsSetModelNamespacing), "enable"_a)
        .def("set_enable_peer_access", setter(&Table::TRITONSERVER_ServerOptionsSetEnablePeerAccess), "enable"_a)
        .def("set_log_file", setter(&Table::TRITONSERVER_ServerOptionsSetLogFile), "path"_a)
        .def("set_log_info", setter(&Table::TRITONSERVER_ServerOptionsSetLogInfo), "enable"_a)
        .def("set_log_warn", setter(&Table::TRITONSERVER_ServerOptionsSetLogWarn), "enable"_a)
        .def("set_log_error", setter(&Table::TRITONSERVER_ServerOptionsSetLogError), "enable"_a)
        .def("set_log_format", setter(&Table::TRITONSERVER_ServerOptionsSetLogFormat), "log_format"_a)
        .def("set_log_verbose", setter(&Table::TRITONSERVER_ServerOptionsSetLogVerbose), "level"_a)
        .def("set_metrics", setter(&Table::TRITONSERVER_ServerOptionsSetMetrics), "enable"_a)
        .def("set_gpu_metrics", setter(&Table::TRITONSERVER_ServerOptionsSetGpuMetrics), "enable"_a)
        .def("set_cpu_metrics", setter(&Table::TRITONSERVER_ServerOptionsSetCpuMetrics), "enable"_a)
        .def("set_metrics_interval", setter(&Table::TRITONSERVER_ServerOptionsSetMetricsInterval), "milliseconds"_a)
        .def("set_backend_directory", setter(&Table::TRITONSERVER_ServerOptionsSetBackendDirectory), "path"_a)
        .def("set_repo_agent_directory", setter(&Table::TRITONSERVER_ServerOptionsSetRepoAgentDirectory), "path"_a)
        .def("set_model_load_device_limit", setter(&Table::TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit), "kind"_a,
             "device"_a, "fraction"_a)
        .def("set_backend_config", setter(&Table::TRITONSERVER_ServerOptionsSetBackendConfig), "backend"_a, "setting"_a,
             "value"_a)
        .def("set_host_policy", setter(&Table::TRITONSERVER_ServerOptionsSetHostPolicy), "policy"_a, "setting"_a,
             "value"_a)
        .def("set_metrics_config", setter(&Table::TRITONSERVER_ServerOptionsSetMetricsConfig), "name"_a, "setting"_a,
             "value"_a);
}

}  // namespace triton_inprocess
