#include "bindings/capi/server_options.h"

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/stl/string.h>

#include <cmath>
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
    } else if constexpr (std::is_same_v<Argument, double>) {
        if (std::isnan(argument)) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG, "a number is expected, not nan");
        }
        return argument;
    } else {
        return argument;
    }
}

/// A method for an option function of the C API.
template <typename... Arguments>
auto setter(TRITONSERVER_Error* (*FunctionTable::*function)(TRITONSERVER_ServerOptions*, Arguments...)) {
    return [function](ServerOptions& options, Taken<Arguments>... arguments) {
        const auto changing = options.lock();
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
        const auto changing = options.lock();
        check((api().*function)(options.get(), count));
    };
}

void set_cache_config(ServerOptions& options, const std::string& name, const std::string& config_json) {
    // The library does not survive a text that is JSON, but no object.
    const std::size_t begin = config_json.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos || config_json[begin] != '{') {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "config_json must be a JSON object, not '" + config_json + "'");
    }
    check_json_depth(config_json);
    const auto changing = options.lock();
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
        .def("set_server_id", setter(&Table::TRITONSERVER_ServerOptionsSetServerId), "server_id"_a,
             "The server's name in its metadata (TRITONSERVER_ServerOptionsSetServerId).")
        .def("set_model_repository_path", setter(&Table::TRITONSERVER_ServerOptionsSetModelRepositoryPath), "path"_a,
             "Add a model repository; once for each (TRITONSERVER_ServerOptionsSetModelRepositoryPath).")
        .def("set_model_control_mode", setter(&Table::TRITONSERVER_ServerOptionsSetModelControlMode), "mode"_a,
             "Who decides which models are loaded (TRITONSERVER_ServerOptionsSetModelControlMode).")
        .def("set_startup_model", setter(&Table::TRITONSERVER_ServerOptionsSetStartupModel), "model_name"_a,
             "Load a model at the start, in explicit mode; once for each, or * alone for all "
             "(TRITONSERVER_ServerOptionsSetStartupModel).")
        .def("set_strict_model_config", setter(&Table::TRITONSERVER_ServerOptionsSetStrictModelConfig), "strict"_a,
             "Whether every model must have a complete configuration (TRITONSERVER_ServerOptionsSetStrictModelConfig).")
        .def("set_model_config_name", setter(&Table::TRITONSERVER_ServerOptionsSetModelConfigName), "name"_a,
             "The name of the configuration to take, among those that a model has "
             "(TRITONSERVER_ServerOptionsSetModelConfigName, from C API 1.31).")
        .def("set_rate_limiter_mode", setter(&Table::TRITONSERVER_ServerOptionsSetRateLimiterMode), "mode"_a,
             "Whether executions are rationed by resources (TRITONSERVER_ServerOptionsSetRateLimiterMode).")
        .def("add_rate_limiter_resource", setter(&Table::TRITONSERVER_ServerOptionsAddRateLimiterResource), "name"_a,
             "count"_a, "device"_a,
             "How many of a resource there are; device -1 is for resources of no device "
             "(TRITONSERVER_ServerOptionsAddRateLimiterResource).")
        .def("set_pinned_memory_pool_byte_size", setter(&Table::TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize),
             "byte_size"_a,
             "Bytes of pinned memory for the whole process (TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize).")
        .def("set_cuda_memory_pool_byte_size", setter(&Table::TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize),
             "device"_a, "byte_size"_a,
             "Bytes of memory on a GPU for the whole process (TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize).")
        .def("set_cuda_virtual_address_size", setter(&Table::TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize),
             "device"_a, "byte_size"_a,
             "Bytes of address space on a GPU for growing buffers "
             "(TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize, from C API 1.27).")
        .def("set_response_cache_byte_size", setter(&Table::TRITONSERVER_ServerOptionsSetResponseCacheByteSize),
             "byte_size"_a,
             "Bytes of the local response cache, 0 for none; `set_cache_config` has taken its place "
             "(TRITONSERVER_ServerOptionsSetResponseCacheByteSize).")
        .def("set_cache_config", &set_cache_config, "name"_a, "config_json"_a,
             "Turn on a response cache, with its settings as a JSON object (TRITONSERVER_ServerOptionsSetCacheConfig, "
             "from C API 1.20).")
        .def("set_cache_directory", setter(&Table::TRITONSERVER_ServerOptionsSetCacheDirectory), "path"_a,
             "Where the caches are (TRITONSERVER_ServerOptionsSetCacheDirectory, from C API 1.20).")
        .def("set_min_supported_compute_capability",
             setter(&Table::TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability), "capability"_a,
             "GPUs below this are not used (TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability).")
        .def("set_exit_on_error", setter(&Table::TRITONSERVER_ServerOptionsSetExitOnError), "exit"_a,
             "Whether a model that does not load ends the start (TRITONSERVER_ServerOptionsSetExitOnError).")
        .def("set_strict_readiness", setter(&Table::TRITONSERVER_ServerOptionsSetStrictReadiness), "strict"_a,
             "Whether the server is ready only with its models (TRITONSERVER_ServerOptionsSetStrictReadiness).")
        .def("set_exit_timeout", setter(&Table::TRITONSERVER_ServerOptionsSetExitTimeout), "seconds"_a,
             "How many seconds a stop may take (TRITONSERVER_ServerOptionsSetExitTimeout).")
        .def("set_buffer_manager_thread_count",
             thread_count_setter(&Table::TRITONSERVER_ServerOptionsSetBufferManagerThreadCount), "count"_a,
             "Threads that copy inputs and outputs, at most 1024; only for the first server "
             "(TRITONSERVER_ServerOptionsSetBufferManagerThreadCount).")
        .def("set_model_load_thread_count",
             thread_count_setter(&Table::TRITONSERVER_ServerOptionsSetModelLoadThreadCount), "count"_a,
             "Threads that load models, at most 1024 (TRITONSERVER_ServerOptionsSetModelLoadThreadCount).")
        .def("set_model_load_retry_count", setter(&Table::TRITONSERVER_ServerOptionsSetModelLoadRetryCount), "count"_a,
             "How often a load that failed is tried again (TRITONSERVER_ServerOptionsSetModelLoadRetryCount, from C "
             "API 1.28).")
        .def("set_model_namespacing", setter(&Table::TRITONSERVER_ServerOptionsSetModelNamespacing), "enable"_a,
             "Whether models of one name in several repositories are told apart "
             "(TRITONSERVER_ServerOptionsSetModelNamespacing, from C API 1.18).")
        .def("set_enable_peer_access", setter(&Table::TRITONSERVER_ServerOptionsSetEnablePeerAccess), "enable"_a,
             "Whether GPUs may reach each other's memory (TRITONSERVER_ServerOptionsSetEnablePeerAccess, from C API "
             "1.31).")
        .def("set_log_file", setter(&Table::TRITONSERVER_ServerOptionsSetLogFile), "path"_a,
             "Where the process logs to, at once; empty for the standard error (TRITONSERVER_ServerOptionsSetLogFile).")
        .def("set_log_info", setter(&Table::TRITONSERVER_ServerOptionsSetLogInfo), "enable"_a,
             "Whether information is logged, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogInfo).")
        .def("set_log_warn", setter(&Table::TRITONSERVER_ServerOptionsSetLogWarn), "enable"_a,
             "Whether warnings are logged, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogWarn).")
        .def("set_log_error", setter(&Table::TRITONSERVER_ServerOptionsSetLogError), "enable"_a,
             "Whether errors are logged, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogError).")
        .def("set_log_format", setter(&Table::TRITONSERVER_ServerOptionsSetLogFormat), "log_format"_a,
             "The form of log lines, at once and in the whole process (TRITONSERVER_ServerOptionsSetLogFormat).")
        .def("set_log_verbose", setter(&Table::TRITONSERVER_ServerOptionsSetLogVerbose), "level"_a,
             "How much detail is logged, 0 for none, at once and in the whole process "
             "(TRITONSERVER_ServerOptionsSetLogVerbose).")
        .def("set_metrics", setter(&Table::TRITONSERVER_ServerOptionsSetMetrics), "enable"_a,
             "Whether anything is measured (TRITONSERVER_ServerOptionsSetMetrics).")
        .def("set_gpu_metrics", setter(&Table::TRITONSERVER_ServerOptionsSetGpuMetrics), "enable"_a,
             "Whether GPUs are measured (TRITONSERVER_ServerOptionsSetGpuMetrics).")
        .def("set_cpu_metrics", setter(&Table::TRITONSERVER_ServerOptionsSetCpuMetrics), "enable"_a,
             "Whether the CPU is measured (TRITONSERVER_ServerOptionsSetCpuMetrics).")
        .def("set_metrics_interval", setter(&Table::TRITONSERVER_ServerOptionsSetMetricsInterval), "milliseconds"_a,
             "Milliseconds between two measurements of CPU and GPUs (TRITONSERVER_ServerOptionsSetMetricsInterval).")
        .def("set_backend_directory", setter(&Table::TRITONSERVER_ServerOptionsSetBackendDirectory), "path"_a,
             "Where the backends are (TRITONSERVER_ServerOptionsSetBackendDirectory).")
        .def("set_repo_agent_directory", setter(&Table::TRITONSERVER_ServerOptionsSetRepoAgentDirectory), "path"_a,
             "Where the repository agents are (TRITONSERVER_ServerOptionsSetRepoAgentDirectory).")
        .def("set_model_load_device_limit", setter(&Table::TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit), "kind"_a,
             "device"_a, "fraction"_a,
             "The fraction of a device's memory that loads may fill "
             "(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit).")
        .def("set_backend_config", setter(&Table::TRITONSERVER_ServerOptionsSetBackendConfig), "backend"_a, "setting"_a,
             "value"_a,
             "A setting of a backend; of all with the empty name (TRITONSERVER_ServerOptionsSetBackendConfig).")
        .def("set_host_policy", setter(&Table::TRITONSERVER_ServerOptionsSetHostPolicy), "policy"_a, "setting"_a,
             "value"_a,
             "A setting of a host policy, such as numa-node or cpu-cores (TRITONSERVER_ServerOptionsSetHostPolicy).")
        .def("set_metrics_config", setter(&Table::TRITONSERVER_ServerOptionsSetMetricsConfig), "name"_a, "setting"_a,
             "value"_a,
             "A setting of the metrics; of all with the empty name (TRITONSERVER_ServerOptionsSetMetricsConfig, from C "
             "API 1.22).");
}

}  // namespace triton_inprocess
