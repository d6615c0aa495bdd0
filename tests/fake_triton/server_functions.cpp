// The C functions of a server, without inference.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api_version.h"
#include "error.h"
#include "implementation.h"
#include "message.h"
#include "metric_family.h"
#include "metrics.h"
#include "parameter.h"
#include "server.h"

namespace fake_triton::implementation {
namespace {

TRITONSERVER_Error* give(TRITONSERVER_Message** target, std::string json) {
    *target = new TRITONSERVER_Message(std::move(json));
    return nullptr;
}

/// The real library would go on with whatever lies in memory there: a failing model may be retried for ever.
void require_initialised(const TRITONSERVER_ServerOptions& options) {
    // A library has nothing uninitialised that it has no setter for.
    const std::uint32_t minor = ApiVersion::current().minor;
    const bool lacks_retry_count = minor >= 28 && !options.model_load_retry_count;
    const bool lacks_peer_access = minor >= 31 && !options.peer_access;
    if (lacks_retry_count || lacks_peer_access) {
        std::fprintf(stderr, "fake_triton: uninitialised server option: %s\n",
                     lacks_retry_count ? "model load retry count" : "peer access");
        std::abort();
    }
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerNew(TRITONSERVER_Server** server, TRITONSERVER_ServerOptions* options) {
    const TRITONSERVER_ServerOptions& given = live(options);
    require_initialised(given);
    if (given.repositories.empty()) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "a server needs a model repository");
    }
    *server = new TRITONSERVER_Server(given);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerDelete(TRITONSERVER_Server* server) {
    delete &live(server);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerStop(TRITONSERVER_Server* server) {
    return live(server).stop();
}

TRITONSERVER_Error* TRITONSERVER_ServerSetExitTimeout(TRITONSERVER_Server* server, unsigned int timeout) {
    live(server).set_exit_timeout(timeout);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerRegisterModelRepository(TRITONSERVER_Server* server, const char* repository_path,
                                                               const TRITONSERVER_Parameter** name_mapping,
                                                               const uint32_t mapping_count) {
    for (uint32_t index = 0; index < mapping_count; ++index) {
        live(name_mapping[index]);
    }
    return live(server).add_repository(repository_path);
}

TRITONSERVER_Error* TRITONSERVER_ServerUnregisterModelRepository(TRITONSERVER_Server* server,
                                                                 const char* repository_path) {
    return live(server).remove_repository(repository_path);
}

TRITONSERVER_Error* TRITONSERVER_ServerPollModelRepository(TRITONSERVER_Server* server) {
    if (live(server).control_mode != TRITONSERVER_MODEL_CONTROL_POLL) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "polling is off");
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerIsLive(TRITONSERVER_Server* server, bool* is_live) {
    *is_live = live(server).running();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server* server, bool* ready) {
    *ready = live(server).running();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIsReady(TRITONSERVER_Server* server, const char* model_name,
                                                    const int64_t model_version, bool* ready) {
    const Model* const model = live(server).models.find(model_name, model_version);
    *ready = model != nullptr && model->ready.load();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerModelBatchProperties(TRITONSERVER_Server* server, const char* model_name,
                                                            const int64_t model_version, uint32_t* flags,
                                                            void** voidp) {
    Model* model = nullptr;
    if (TRITONSERVER_Error* error = live(server).find_ready(model_name, model_version, model)) {
        return error;
    }
    *flags = TRITONSERVER_BATCH_UNKNOWN;
    if (voidp != nullptr) {
        *voidp = nullptr;
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerModelTransactionProperties(TRITONSERVER_Server* server, const char* model_name,
                                                                  const int64_t model_version, uint32_t* txn_flags,
                                                                  void** voidp) {
    Model* model = nullptr;
    if (TRITONSERVER_Error* error = live(server).find_ready(model_name, model_version, model)) {
        return error;
    }
    *txn_flags = model->behaviour.decoupled ? TRITONSERVER_TXN_DECOUPLED : TRITONSERVER_TXN_ONE_TO_ONE;
    if (voidp != nullptr) {
        *voidp = nullptr;
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ServerMetadata(TRITONSERVER_Server* server, TRITONSERVER_Message** server_metadata) {
    return give(server_metadata, R"({"name":")" + live(server).id +
                                     R"(","version":"0.0.0-fake","extensions":["model_repository","statistics"]})");
}

TRITONSERVER_Error* TRITONSERVER_ServerModelMetadata(TRITONSERVER_Server* server, const char* model_name,
                                                     const int64_t model_version,
                                                     TRITONSERVER_Message** model_metadata) {
    Model* model = nullptr;
    if (TRITONSERVER_Error* error = live(server).find_ready(model_name, model_version, model)) {
        return error;
    }
    return give(model_metadata, model->metadata_json());
}

TRITONSERVER_Error* TRITONSERVER_ServerModelStatistics(TRITONSERVER_Server* server, const char* model_name,
                                                       const int64_t model_version,
                                                       TRITONSERVER_Message** model_stats) {
    TRITONSERVER_Server& target = live(server);
    std::string statistics;
    if (*model_name == '\0') {
        statistics = target.models.to_json(&Model::statistics_json, true);
    } else {
        Model* model = nullptr;
        if (TRITONSERVER_Error* error = target.find_ready(model_name, model_version, model)) {
            return error;
        }
        statistics = "[" + model->statistics_json() + "]";
    }
    return give(model_stats, R"({"model_stats":)" + statistics + "}");
}

TRITONSERVER_Error* TRITONSERVER_ServerModelConfig(TRITONSERVER_Server* server, const char* model_name,
                                                   const int64_t model_version, const uint32_t config_version,
                                                   TRITONSERVER_Message** model_config) {
    Model* model = nullptr;
    if (TRITONSERVER_Error* error = live(server).find_ready(model_name, model_version, model)) {
        return error;
    }
    if (config_version != 1) {
        return failure(TRITONSERVER_ERROR_UNSUPPORTED,
                       "model configuration version " + std::to_string(config_version) + " is not supported");
    }
    return give(model_config, model->config_json());
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIndex(TRITONSERVER_Server* server, uint32_t flags,
                                                  TRITONSERVER_Message** model_index) {
    const bool ready_only = (flags & TRITONSERVER_INDEX_FLAG_READY) != 0;
    return give(model_index, live(server).models.to_json(&Model::index_json, ready_only));
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModel(TRITONSERVER_Server* server, const char* model_name) {
    return live(server).load(model_name, false);
}

TRITONSERVER_Error* TRITONSERVER_ServerLoadModelWithParameters(TRITONSERVER_Server* server, const char* model_name,
                                                               const TRITONSERVER_Parameter** parameters,
                                                               const uint64_t parameter_count) {
    bool with_own_config = false;
    for (uint64_t index = 0; index < parameter_count; ++index) {
        with_own_config = live(parameters[index]).name == "config" || with_own_config;
    }
    return live(server).load(model_name, with_own_config);
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModel(TRITONSERVER_Server* server, const char* model_name) {
    return live(server).unload(model_name);
}

TRITONSERVER_Error* TRITONSERVER_ServerUnloadModelAndDependents(TRITONSERVER_Server* server, const char* model_name) {
    return live(server).unload(model_name);
}

TRITONSERVER_Error* TRITONSERVER_ServerMetrics(TRITONSERVER_Server* server, TRITONSERVER_Metrics** metrics) {
    if (!live(server).metrics) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "metrics are off");
    }
    *metrics = new TRITONSERVER_Metrics(TRITONSERVER_MetricFamily::format_all());
    return nullptr;
}

}  // namespace fake_triton::implementation
