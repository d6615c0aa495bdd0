// A server: its models, its threads, and what still needs it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "abi/types.h"
#include "live.h"
#include "model.h"
#include "server_options.h"
#include "worker_pool.h"

struct TRITONSERVER_Server : fake_triton::Live<TRITONSERVER_Server> {
    static constexpr const char* type_name = "Server";

    explicit TRITONSERVER_Server(const TRITONSERVER_ServerOptions& options);
    /// Stops first. Ends the process if anything still needs the server, or if another one runs: deleting the real one
    /// resets pools that all share.
    ~TRITONSERVER_Server();

    /// Waits until neither requests nor responses are left, or the exit timeout has passed. A later call succeeds at
    /// once, whatever the first one came to: so does the real library.
    TRITONSERVER_Error* stop();
    bool running();
    void set_exit_timeout(unsigned seconds);

    /// The model, if it is there and ready; otherwise an error.
    TRITONSERVER_Error* find_ready(const std::string& name, std::int64_t version, fake_triton::Model*& model);
    TRITONSERVER_Error* load(const std::string& name, bool with_own_config);
    TRITONSERVER_Error* unload(const std::string& name);
    TRITONSERVER_Error* add_repository(const std::string& path);
    TRITONSERVER_Error* remove_repository(const std::string& path);

    /// A request or response that lives needs its server.
    void add_user();
    void remove_user();

    /// Calls that are being executed: the server may not go meanwhile.
    std::atomic<std::int64_t> calls{0};

    const std::string id;
    const TRITONSERVER_ModelControlMode control_mode;
    const bool metrics;
    fake_triton::Models models;

  private:
    TRITONSERVER_Error* require_control() const;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t users_ = 0;
    bool stopping_ = false;
    unsigned exit_timeout_;
    std::set<std::string> repositories_;

  public:
    fake_triton::WorkerPool workers;  ///< Last: its threads use all the others.
};
