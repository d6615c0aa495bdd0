#include "core/server_registry.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "runtime/error.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

constexpr std::chrono::milliseconds loads_may_take{500};

void end_process_safely(int status, void* /*unused*/) {
    if (ServerRegistry::instance().delete_stopped() != 0) {
        std::fflush(nullptr);
        _exit(status);
    }
}

}  // namespace

ServerRegistry& ServerRegistry::instance() {
    // Never destroyed: it is needed until the very end of the process.
    static auto* registry = std::make_unique<ServerRegistry>().release();
    return *registry;
}

// Triton's threads do not exist in a forked child: its copies of the servers are marked, so that they only raise.
void ServerRegistry::before_fork() noexcept {
    instance().mutex_.lock();
    HostBufferPool::instance().before_fork();
}

void ServerRegistry::after_fork_in_parent() noexcept {
    HostBufferPool::instance().after_fork();
    instance().mutex_.unlock();
}

void ServerRegistry::after_fork_in_child() noexcept {
    HostBufferPool::instance().after_fork();
    for (const Ref<ServerState>& server : instance().servers_) {
        server->mark_forked();
    }
    instance().forked_ = instance().forked_ || instance().starting_ != 0 || !instance().servers_.empty();
    instance().mutex_.unlock();
}

Ref<ServerState> ServerRegistry::start(const ServerOptions& options) {
    static const int watching_forks = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    static_cast<void>(watching_forks);
    {
        const std::scoped_lock guard(mutex_);
        if (ending_) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the interpreter is ending: no server can be started");
        }
        if (forked_) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                        "this process was forked from one with a Triton server, whose threads are not here: no server "
                        "can be started; start it in a process that was not forked (multiprocessing: 'spawn')");
        }
        ++starting_;
    }
    Ref<ServerState> server;
    std::exception_ptr failure;
    try {
        server = make_ref<ServerState>(options);
    } catch (...) {
        failure = std::current_exception();
    }
    const std::scoped_lock guard(mutex_);
    --starting_;
    if (failure) {
        std::rethrow_exception(failure);
    }
    servers_.push_back(server);
    return server;
}

void ServerRegistry::stop_all() {
    std::vector<Ref<ServerState>> servers;
    {
        const std::scoped_lock guard(mutex_);
        servers = servers_;
    }
    for (const Ref<ServerState>& server : servers) {
        if (!server->accepting()) {
            continue;
        }
        try {
            server->stop(std::chrono::steady_clock::now() + loads_may_take);
        } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is stuck, which the others have no part in
        }
    }
}

void ServerRegistry::prepare_exit() {
    const std::scoped_lock guard(mutex_);
    ending_ = true;
    if (delete_stopped_locked() != 0) {
        static const int registered = on_exit(end_process_safely, nullptr);
        static_cast<void>(registered);
    }
}

std::size_t ServerRegistry::delete_stopped() noexcept {
    const std::scoped_lock guard(mutex_);
    return delete_stopped_locked();
}

std::size_t ServerRegistry::delete_stopped_locked() noexcept {
    const bool all_deletable =
        std::all_of(servers_.begin(), servers_.end(), [](const auto& server) { return server->deletable(); });
    if (starting_ != 0 || !all_deletable) {
        return servers_.size() + starting_;
    }
    for (const Ref<ServerState>& server : servers_) {
        server->delete_server();
    }
    servers_.clear();
    return 0;
}

}  // namespace triton_inprocess
