// A Triton server in this process.
#pragma once

#include <nanobind/intrusive/counter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/message.h"
#include "core/metrics.h"
#include "core/parameter.h"
#include "core/server_state.h"

namespace triton_inprocess {

class Server : public nanobind::intrusive_base {
  public:
    struct Properties {
        std::uint32_t flags = 0;
        void* pointer = nullptr;
    };

    /// Creates and starts the server; blocks while models load.
    explicit Server(const ServerOptions& options);

    const Ref<ServerState>& state() const noexcept { return state_; }

    /// See ServerState::stop. Afterwards the C server is deleted if that is safe.
    void stop(LoadGate::Deadline deadline = LoadGate::Deadline::max());

    bool is_live() const;
    bool is_ready() const;
    bool model_is_ready(const std::string& name, std::int64_t version) const;
    /// Bits of TRITONSERVER_ModelBatchFlag and of TRITONSERVER_ModelTxnPropertyFlag, with a pointer that depends on
    /// them.
    Properties model_batch_properties(const std::string& name, std::int64_t version) const;
    Properties model_transaction_properties(const std::string& name, std::int64_t version) const;

    Message metadata() const;
    Message model_metadata(const std::string& name, std::int64_t version) const;
    Message model_statistics(const std::string& name, std::int64_t version) const;
    Message model_config(const std::string& name, std::int64_t version, std::uint32_t config_version) const;
    Message model_index(std::uint32_t flags) const;
    Metrics metrics() const;

    void set_exit_timeout(unsigned seconds);
    void poll_model_repository();
    /// `name_mapping`: STRING parameters, a folder of the repository each and the name of its model.
    void register_model_repository(const std::string& path, const std::vector<const Parameter*>& name_mapping);
    void unregister_model_repository(const std::string& path);
    void load_model(const std::string& name);

    /// `parameters`: a configuration ("config", STRING) and files ("file:<version>/<name>", BYTES).
    void load_model_with_parameters(const std::string& name, const std::vector<const Parameter*>& parameters);
    void unload_model(const std::string& name);
    void unload_model_and_dependents(const std::string& name);

  private:
    ServerUse use() const { return ServerUse(state_); }

    Ref<ServerState> state_;
};

}  // namespace triton_inprocess
