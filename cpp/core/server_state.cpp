#include "core/server_state.h"

#include "core/request_block.h"
#include "core/response_queue.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

ServerState::ServerState(const ServerOptions& options) {
    const auto unchanged = options.lock();
    check(api().TRITONSERVER_ServerNew(&server_, options.get()));
}

ServerState::~ServerState() = default;

void ServerState::require_running() const {
    if (!running()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    phase_.load() == Phase::forked ? "the server belongs to the process that this one was forked from"
                                                   : "the server is stopped");
    }
}

void ServerState::require_own_process() const {
    if (phase_.load() == Phase::forked) {
        require_running();
    }
}

void ServerState::stop(LoadGate::Deadline deadline) {
    Phase expected = Phase::running;
    if (!phase_.compare_exchange_strong(expected, Phase::stopping)) {
        if (expected == Phase::stuck) {
            // The library would say that it succeeded now.
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the server could not be stopped; it is left behind");
        }
        return;
    }
    if (!stop_accepting(deadline)) {
        phase_.store(Phase::stuck);
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "a model is still being loaded");
    }
    try {
        check(api().TRITONSERVER_ServerStop(server_));
    } catch (...) {
        phase_.store(Phase::stuck);
        throw;
    }
    phase_.store(Phase::stopped);
}

void ServerState::add_reusable(RequestBlock* request) {
    const std::scoped_lock guard(reusable_mutex_);
    reusable_.insert(request);
}

void ServerState::remove_reusable(RequestBlock* request) noexcept {
    const std::scoped_lock guard(reusable_mutex_);
    reusable_.erase(request);
}

void ServerState::add_bounded(const Ref<ResponseQueue>& queue) {
    {
        const std::scoped_lock guard(bounded_mutex_);
        bounded_.emplace(queue.get(), queue);
    }
    // The stop sees the queue or this sees the stop.
    if (!accepting()) {
        queue->open();
    }
}

void ServerState::remove_bounded(const Ref<ResponseQueue>& queue) noexcept {
    const std::scoped_lock guard(bounded_mutex_);
    bounded_.erase(queue.get());
}

void ServerState::open_bounded() noexcept {
    const std::scoped_lock guard(bounded_mutex_);
    for (const auto& [address, queue] : bounded_) {
        queue->open();
    }
}

void ServerState::require_accepting() const {
    require_running();
    if (!accepting()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the server is being stopped");
    }
}

bool ServerState::stop_accepting(LoadGate::Deadline deadline) noexcept {
    const bool loaded = loading_.close(deadline);
    accepting_.store(false);
    open_bounded();
    const std::scoped_lock guard(reusable_mutex_);
    for (RequestBlock* const request : reusable_) {
        request->close();
    }
    return loaded;
}

void ServerState::give_up() noexcept {
    Phase expected = Phase::running;
    phase_.compare_exchange_strong(expected, Phase::stuck);
    open_bounded();  // nobody would do it later
}

void ServerState::delete_server() noexcept {
    phase_.store(Phase::deleted);
    ignore(api().TRITONSERVER_ServerDelete(server_));
    server_ = nullptr;
}

ServerUse::ServerUse(Ref<ServerState> server) : server_(std::move(server)) {
    // Counted before it is checked: whoever wants to delete the server sees the count or this sees the stop.
    server_->uses_.fetch_add(1);
    if (!server_->running()) {
        server_->uses_.fetch_sub(1);
        server_->require_running();
    }
}

ServerUse::~ServerUse() {
    if (server_) {
        server_->uses_.fetch_sub(1);
    }
}

}  // namespace triton_inprocess
