#include "core/server.h"

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/server_registry.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

struct DeleteParameter {
    void operator()(TRITONSERVER_Parameter* parameter) const noexcept { api().TRITONSERVER_ParameterDelete(parameter); }
};
using OwnedParameter = std::unique_ptr<TRITONSERVER_Parameter, DeleteParameter>;

struct DeleteMessage {
    void operator()(TRITONSERVER_Message* message) const noexcept { ignore(api().TRITONSERVER_MessageDelete(message)); }
};

struct DeleteMetrics {
    void operator()(TRITONSERVER_Metrics* metrics) const noexcept { ignore(api().TRITONSERVER_MetricsDelete(metrics)); }
};

std::string take_json(TRITONSERVER_Message* message) {
    const std::unique_ptr<TRITONSERVER_Message, DeleteMessage> owner(message);
    const char* base = nullptr;
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_MessageSerializeToJson(message, &base, &byte_size));
    return std::string(base, byte_size);
}

}  // namespace

Server::Server(const ServerOptions& options) : state_(ServerRegistry::instance().start(options)) {}

void Server::stop() {
    state_->stop();
    // The release of a request can come a moment after its last response.
    for (int i = 0; i < 100 && state_->use_count() != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ServerRegistry::instance().delete_stopped();
}

bool Server::is_live() const {
    const ServerUse server = use();
    bool live = false;
    check(api().TRITONSERVER_ServerIsLive(server.get(), &live));
    return live;
}

bool Server::is_ready() const {
    const ServerUse server = use();
    bool ready = false;
    check(api().TRITONSERVER_ServerIsReady(server.get(), &ready));
    return ready;
}

bool Server::model_is_ready(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    bool ready = false;
    check(api().TRITONSERVER_ServerModelIsReady(server.get(), name.c_str(), version, &ready));
    return ready;
}

std::uint32_t Server::model_batch_properties(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    std::uint32_t flags = 0;
    void* unused = nullptr;
    check(api().TRITONSERVER_ServerModelBatchProperties(server.get(), name.c_str(), version, &flags, &unused));
    return flags;
}

std::uint32_t Server::model_transaction_properties(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    std::uint32_t flags = 0;
    void* unused = nullptr;
    check(api().TRITONSERVER_ServerModelTransactionProperties(server.get(), name.c_str(), version, &flags, &unused));
    return flags;
}

std::string Server::metadata() const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerMetadata(server.get(), &message));
    return take_json(message);
}

std::string Server::model_metadata(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelMetadata(server.get(), name.c_str(), version, &message));
    return take_json(message);
}

std::string Server::model_statistics(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelStatistics(server.get(), name.c_str(), version, &message));
    return take_json(message);
}

std::string Server::model_config(const std::string& name, std::int64_t version, std::uint32_t config_version) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelConfig(server.get(), name.c_str(), version, config_version, &message));
    return take_json(message);
}

std::string Server::model_index(std::uint32_t flags) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelIndex(server.get(), flags, &message));
    return take_json(message);
}

std::string Server::metrics() const {
    const ServerUse server = use();
    TRITONSERVER_Metrics* metrics = nullptr;
    check(api().TRITONSERVER_ServerMetrics(server.get(), &metrics));
    const std::unique_ptr<TRITONSERVER_Metrics, DeleteMetrics> owner(metrics);
    const char* base = nullptr;
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_MetricsFormatted(metrics, TRITONSERVER_METRIC_PROMETHEUS, &base, &byte_size));
    return std::string(base, byte_size);
}

void Server::set_exit_timeout(unsigned seconds) {
    const ServerUse server = use();
    check(api().TRITONSERVER_ServerSetExitTimeout(server.get(), seconds));
}

void Server::poll_model_repository() {
    const ServerUse server = use();
    const auto loading = state_->load_lock();
    check(api().TRITONSERVER_ServerPollModelRepository(server.get()));
}

void Server::register_model_repository(const std::string& path,
                                       const std::vector<std::pair<std::string, std::string>>& name_mapping) {
    const ServerUse server = use();
    std::vector<OwnedParameter> owned;
    std::vector<const TRITONSERVER_Parameter*> parameters;
    for (const auto& [folder, name] : name_mapping) {
        owned.emplace_back(
            api().TRITONSERVER_ParameterNew(folder.c_str(), TRITONSERVER_PARAMETER_STRING, name.c_str()));
        parameters.push_back(owned.back().get());
    }
    check(api().TRITONSERVER_ServerRegisterModelRepository(server.get(), path.c_str(), parameters.data(),
                                                           static_cast<std::uint32_t>(parameters.size())));
}

void Server::unregister_model_repository(const std::string& path) {
    const ServerUse server = use();
    check(api().TRITONSERVER_ServerUnregisterModelRepository(server.get(), path.c_str()));
}

void Server::load_model(const std::string& name) {
    const ServerUse server = use();
    const auto loading = state_->load_lock();
    check(api().TRITONSERVER_ServerLoadModel(server.get(), name.c_str()));
}

void Server::unload_model(const std::string& name) {
    const ServerUse server = use();
    check(api().TRITONSERVER_ServerUnloadModel(server.get(), name.c_str()));
}

void Server::unload_model_and_dependents(const std::string& name) {
    const ServerUse server = use();
    check(api().TRITONSERVER_ServerUnloadModelAndDependents(server.get(), name.c_str()));
}

}  // namespace triton_inprocess
