// A Triton server in this process.
#pragma once

#include <nanobind/intrusive/counter.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/server_state.h"

namespace triton_inprocess {

class Server : public nanobind::intrusive_base {
  public:
    /// Creates and starts the server; blocks while models load.
    explicit Server(const ServerOptions& options);

    const Ref<ServerState>& state() const noexcept { return state_; }

    /// See ServerState::stop. Afterwards the C server is deleted if that is safe.
    void stop();

    bool is_live() const;
    bool is_ready() const;
    bool model_is_ready(const std::string& name, std::int64_t version) const;
    std::uint32_t model_batch_properties(const std::string& name, std::int64_t version) const;
    std::uint32_t model_transaction_properties(const std::string& name, std::int64_t version) const;

    /// JSON texts.
    std::string metadata() const;
    std::string model_metadata(const std::string& name, std::int64_t version) const;
    std::string model_statistics(const std::string& name, std::int64_t version) const;
    std::string model_config(const std::string& name, std::int64_t version, std::uint32_t config_version) const;
    std::string model_index(std::uint32_t flags) const;

    /// Prometheus text.
    std::string metrics() const;

    void set_exit_timeout(unsigned seconds);
    void poll_model_repository();
    void register_model_repository(const std::string& path,
                                   const std::vector<std::pair<std::string, std::string>>& name_mapping);
    void unregister_model_repository(const std::string& path);
    void load_model(const std::string& name);
    void unload_model(const std::string& name);
    void unload_model_and_dependents(const std::string& name);

  private:
    ServerUse use() const { return ServerUse(state_); }

    Ref<ServerState> state_;
};

}  // namespace triton_inprocess
