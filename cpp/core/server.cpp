#include "core/server.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>
#include <vector>

#include "core/c_text.h"
#include "core/server_registry.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

std::vector<const TRITONSERVER_Parameter*> c_parameters(const std::vector<const Parameter*>& parameters) {
    std::vector<const TRITONSERVER_Parameter*> result;
    result.reserve(parameters.size());
    for (const Parameter* const parameter : parameters) {
        result.push_back(parameter->get());
    }
    return result;
}

/// Older libraries write to whatever path the name of a file leads to.
void check_file_name(const std::string& parameter) {
    constexpr std::string_view prefix = "file:";
    if (parameter.compare(0, prefix.size(), prefix) != 0) {
        return;
    }
    const std::filesystem::path path(parameter.substr(prefix.size()));
    if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "a file's name must be a path within the model's folder: '" + parameter + "'");
    }
}

/// Counts a change of the models at its end, however that is reached.
class ModelChange {
  public:
    explicit ModelChange(Ref<ServerState> server) : server_(std::move(server)) {}
    ~ModelChange() { server_->count_model_change(); }
    ModelChange(const ModelChange&) = delete;
    ModelChange& operator=(const ModelChange&) = delete;

  private:
    Ref<ServerState> server_;
};

}  // namespace

Server::Server(const ServerOptions& options) : state_(ServerRegistry::instance().start(options)) {}

void Server::stop(LoadGate::Deadline deadline) {
    state_->stop(deadline);
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
    check(api().TRITONSERVER_ServerModelIsReady(server.get(), c_text(name, "model_name"), version, &ready));
    return ready;
}

Server::Properties Server::model_batch_properties(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    Properties properties;
    check(api().TRITONSERVER_ServerModelBatchProperties(server.get(), c_text(name, "model_name"), version,
                                                        &properties.flags, &properties.pointer));
    return properties;
}

Server::Properties Server::model_transaction_properties(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    Properties properties;
    check(api().TRITONSERVER_ServerModelTransactionProperties(server.get(), c_text(name, "model_name"), version,
                                                              &properties.flags, &properties.pointer));
    return properties;
}

Message Server::metadata() const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerMetadata(server.get(), &message));
    return Message(message);
}

Message Server::model_metadata(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelMetadata(server.get(), c_text(name, "model_name"), version, &message));
    return Message(message);
}

Message Server::model_statistics(const std::string& name, std::int64_t version) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelStatistics(server.get(), c_text(name, "model_name"), version, &message));
    return Message(message);
}

Message Server::model_config(const std::string& name, std::int64_t version, std::uint32_t config_version) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelConfig(server.get(), c_text(name, "model_name"), version, config_version,
                                               &message));
    return Message(message);
}

Message Server::model_index(std::uint32_t flags) const {
    const ServerUse server = use();
    TRITONSERVER_Message* message = nullptr;
    check(api().TRITONSERVER_ServerModelIndex(server.get(), flags, &message));
    return Message(message);
}

Metrics Server::metrics() const {
    const ServerUse server = use();
    TRITONSERVER_Metrics* metrics = nullptr;
    check(api().TRITONSERVER_ServerMetrics(server.get(), &metrics));
    return Metrics(metrics);
}

void Server::set_exit_timeout(unsigned seconds) {
    const ServerUse server = use();
    check(api().TRITONSERVER_ServerSetExitTimeout(server.get(), seconds));
}

void Server::poll_model_repository() {
    const ServerUse server = use();
    const ModelChange change(state_);
    const LoadGate::Pass loading(state_->loading());
    check(api().TRITONSERVER_ServerPollModelRepository(server.get()));
}

void Server::register_model_repository(const std::string& path, const std::vector<const Parameter*>& name_mapping) {
    const ServerUse server = use();
    const ModelChange change(state_);
    auto parameters = c_parameters(name_mapping);
    check(api().TRITONSERVER_ServerRegisterModelRepository(server.get(), c_text(path, "repository_path"),
                                                           parameters.data(),
                                                           static_cast<std::uint32_t>(parameters.size())));
}

void Server::unregister_model_repository(const std::string& path) {
    const ServerUse server = use();
    const ModelChange change(state_);
    check(api().TRITONSERVER_ServerUnregisterModelRepository(server.get(), c_text(path, "repository_path")));
}

void Server::load_model(const std::string& name) {
    const ServerUse server = use();
    const ModelChange change(state_);
    const LoadGate::Pass loading(state_->loading());
    check(api().TRITONSERVER_ServerLoadModel(server.get(), c_text(name, "model_name")));
}

void Server::load_model_with_parameters(const std::string& name, const std::vector<const Parameter*>& parameters) {
    for (const Parameter* const parameter : parameters) {
        check_file_name(parameter->name());
    }
    const ServerUse server = use();
    const ModelChange change(state_);
    const LoadGate::Pass loading(state_->loading());
    auto c_values = c_parameters(parameters);
    check(api().TRITONSERVER_ServerLoadModelWithParameters(server.get(), c_text(name, "model_name"), c_values.data(),
                                                           c_values.size()));
}

void Server::unload_model(const std::string& name) {
    const ServerUse server = use();
    const ModelChange change(state_);
    check(api().TRITONSERVER_ServerUnloadModel(server.get(), c_text(name, "model_name")));
}

void Server::unload_model_and_dependents(const std::string& name) {
    const ServerUse server = use();
    const ModelChange change(state_);
    check(api().TRITONSERVER_ServerUnloadModelAndDependents(server.get(), c_text(name, "model_name")));
}

}  // namespace triton_inprocess
