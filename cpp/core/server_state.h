// The C server and who uses it: what requests in flight share with the Server object, whatever becomes of that.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "abi/types.h"
#include "core/load_gate.h"
#include "core/server_options.h"
#include "core/tracer.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class RequestBlock;
class ResponseQueue;

class ServerState final : public RefCounted {
  public:
    /// Creates and starts the C server; blocks while models load.
    explicit ServerState(const ServerOptions& options);
    ~ServerState() override;

    TRITONSERVER_Server* get() const noexcept { return server_; }

    /// Throws UNAVAILABLE once the server is stopped, or on its way there.
    void require_running() const;
    bool running() const noexcept { return phase_.load() == Phase::running; }

    /// Throws UNAVAILABLE in a child of the process that the server runs in: nothing is to be waited for there.
    void require_own_process() const;

    /// Whether requests are taken: until the stop begins.
    bool accepting() const noexcept { return running() && accepting_.load(); }
    void require_accepting() const;

    /// Begins the stop: no model is taken any more, loads in progress are waited for until the deadline, then no
    /// request is taken any more, and those that are not in flight let go of their models. False when a load goes on.
    bool stop_accepting(LoadGate::Deadline deadline) noexcept;

    /// Passed while models are loaded: a model that came during the stop would be waited for in vain.
    LoadGate& loading() const noexcept { return loading_; }

    /// Stops the C server: no call is accepted from now on, and this one blocks until the last request is answered or
    /// the exit timeout has passed (then it throws what the library says). Loads in progress are waited for until the
    /// deadline; the library is not asked while one goes on: it throws UNAVAILABLE then. A second stop does nothing.
    void stop(LoadGate::Deadline deadline = LoadGate::Deadline::max());

    /// Leaves the C server behind, unstopped: whatever needs it goes on, but no call is accepted any more.
    void give_up() noexcept;

    /// Requests that live until they are dropped: a stop closes them, for Triton would wait for them.
    void add_reusable(RequestBlock* request);
    void remove_reusable(RequestBlock* request) noexcept;

    /// Queues that Triton's threads may wait at: a stop opens them, for it waits for those threads. One that is added
    /// after the stop has begun is opened at once.
    void add_bounded(const Ref<ResponseQueue>& queue);
    void remove_bounded(const Ref<ResponseQueue>& queue) noexcept;

    /// How often models may have come, gone or changed.
    std::uint64_t model_changes() const noexcept { return model_changes_.load(); }
    void count_model_change() noexcept { model_changes_.fetch_add(1); }

    /// Has requests traced that have no trace of their own; called once, before the first request.
    void trace_with(Ref<Tracer> tracer) noexcept { tracer_ = std::move(tracer); }

    /// For a request without a trace of its own; null if it is not traced.
    Ref<TraceRecord> next_trace() const { return tracer_ ? tracer_->next() : nullptr; }

    /// Calls and C objects that still need the C server.
    std::int64_t use_count() const noexcept { return uses_.load(); }

  private:
    friend class ServerUse;
    friend class ServerRegistry;

    // `stuck`: the stop did not succeed, so Triton's threads may run for ever and the C server must stay.
    // `forked`: this process is a child of the one whose threads serve.
    enum class Phase { running, stopping, stopped, stuck, forked, deleted };

    void mark_forked() noexcept { phase_.store(Phase::forked); }
    bool deletable() const noexcept { return phase_.load() == Phase::stopped && uses_.load() == 0; }
    void delete_server() noexcept;
    void open_bounded() noexcept;

    TRITONSERVER_Server* server_ = nullptr;
    std::atomic<Phase> phase_{Phase::running};
    std::atomic<bool> accepting_{true};
    mutable std::atomic<std::int64_t> uses_{0};
    std::atomic<std::uint64_t> model_changes_{0};
    mutable LoadGate loading_;
    std::mutex reusable_mutex_;
    std::unordered_set<RequestBlock*> reusable_;
    std::mutex bounded_mutex_;
    std::unordered_map<ResponseQueue*, Ref<ResponseQueue>> bounded_;
    Ref<Tracer> tracer_;
};

/// Keeps the C server from being deleted while a call or a C object needs it.
class ServerUse {
  public:
    /// Throws UNAVAILABLE when the server does not run.
    explicit ServerUse(Ref<ServerState> server);
    ~ServerUse();
    ServerUse(ServerUse&&) noexcept = default;
    ServerUse(const ServerUse&) = delete;
    ServerUse& operator=(const ServerUse&) = delete;
    ServerUse& operator=(ServerUse&&) = delete;

    TRITONSERVER_Server* get() const noexcept { return server_->get(); }

  private:
    Ref<ServerState> server_;
};

}  // namespace triton_inprocess
