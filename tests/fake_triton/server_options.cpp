#include "server_options.h"

#include "error.h"
#include "implementation.h"
#include "log.h"

namespace fake_triton::implementation {
namespace {

/// For options that change nothing in the fake.
TRITONSERVER_Error* accept(TRITONSERVER_ServerOptions* options) {
    live(options);
    return nullptr;
}

TRITONSERVER_Error* enable_log(TRITONSERVER_ServerOptions* options, TRITONSERVER_LogLevel level, bool enabled) {
    Log::instance().enable(level, enabled);
    return accept(options);
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerOptionsNew(TRITONSERVER_ServerOptions** options) {
    *options = new TRITONSERVER_ServerOptions;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsDelete(TRITONSERVER_ServerOptions* options) {
    delete &live(options);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetServerId(TRITONSERVER_ServerOptions* options, const char* server_id) {
    live(options).server_id = server_id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelRepositoryPath(TRITONSERVER_ServerOptions* options,
                                                                     const char* model_repository_path) {
    live(options).repositories.emplace_back(model_repository_path);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelControlMode(TRITONSERVER_ServerOptions* options,
                                                                  TRITONSERVER_ModelControlMode mode) {
    live(options).control_mode = mode;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetExitTimeout(TRITONSERVER_ServerOptions* options,
                                                             unsigned int timeout) {
    live(options).exit_timeout = timeout;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetModelLoadRetryCount(TRITONSERVER_ServerOptions* options,
                                                                     unsigned int retry_count) {
    live(options).model_load_retry_count = retry_count;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetEnablePeerAccess(TRITONSERVER_ServerOptions* options,
                                                                  bool enable_peer_access) {
    live(options).peer_access = enable_peer_access;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetMetrics(TRITONSERVER_ServerOptions* options, bool metrics) {
    live(options).metrics = metrics;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogFile(TRITONSERVER_ServerOptions* options, const char* file) {
    live(options);
    if (!Log::instance().write_to(file)) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, std::string("cannot open the log file '") + file + "'");
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogInfo(TRITONSERVER_ServerOptions* options, bool log) {
    return enable_log(options, TRITONSERVER_LOG_INFO, log);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogWarn(TRITONSERVER_ServerOptions* options, bool log) {
    return enable_log(options, TRITONSERVER_LOG_WARN, log);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogError(TRITONSERVER_ServerOptions* options, bool log) {
    return enable_log(options, TRITONSERVER_LOG_ERROR, log);
}

TRITONSERVER_Error* TRITONSERVER_ServerOptionsSetLogVerbose(TRITONSERVER_ServerOptions* options, int level) {
    return enable_log(options, TRITONSERVER_LOG_VERBOSE, level > 0);
}

// Every other option is accepted, and changes nothing.
#define ACCEPT(name, ...)                                                        \
    TRITONSERVER_Error* name(TRITONSERVER_ServerOptions* options, __VA_ARGS__) { \
        return accept(options);                                                  \
    }
ACCEPT(TRITONSERVER_ServerOptionsSetStartupModel, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetStrictModelConfig, bool)
ACCEPT(TRITONSERVER_ServerOptionsSetModelConfigName, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetRateLimiterMode, TRITONSERVER_RateLimitMode)
ACCEPT(TRITONSERVER_ServerOptionsAddRateLimiterResource, const char*, const size_t, const int)
ACCEPT(TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize, uint64_t)
ACCEPT(TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize, int, uint64_t)
ACCEPT(TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize, int, size_t)
ACCEPT(TRITONSERVER_ServerOptionsSetResponseCacheByteSize, uint64_t)
ACCEPT(TRITONSERVER_ServerOptionsSetCacheConfig, const char*, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetCacheDirectory, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability, double)
ACCEPT(TRITONSERVER_ServerOptionsSetExitOnError, bool)
ACCEPT(TRITONSERVER_ServerOptionsSetStrictReadiness, bool)
ACCEPT(TRITONSERVER_ServerOptionsSetBufferManagerThreadCount, unsigned int)
ACCEPT(TRITONSERVER_ServerOptionsSetModelLoadThreadCount, unsigned int)
ACCEPT(TRITONSERVER_ServerOptionsSetModelNamespacing, bool)
ACCEPT(TRITONSERVER_ServerOptionsSetLogFormat, const TRITONSERVER_LogFormat)
ACCEPT(TRITONSERVER_ServerOptionsSetGpuMetrics, bool)
ACCEPT(TRITONSERVER_ServerOptionsSetCpuMetrics, bool)
ACCEPT(TRITONSERVER_ServerOptionsSetMetricsInterval, uint64_t)
ACCEPT(TRITONSERVER_ServerOptionsSetBackendDirectory, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetRepoAgentDirectory, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit, const TRITONSERVER_InstanceGroupKind, const int, const double)
ACCEPT(TRITONSERVER_ServerOptionsSetBackendConfig, const char*, const char*, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetHostPolicy, const char*, const char*, const char*)
ACCEPT(TRITONSERVER_ServerOptionsSetMetricsConfig, const char*, const char*, const char*)
#undef ACCEPT

}  // namespace fake_triton::implementation
