#include "core/server_registry.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace triton_inprocess {
namespace {

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
}

void ServerRegistry::after_fork_in_parent() noexcept {
    instance().mutex_.unlock();
}

void ServerRegistry::after_fork_in_child() noexcept {
    for (const Ref<ServerState>& server : instance().servers_) {
        server->mark_forked();
    }
    instance().mutex_.unlock();
}

void ServerRegistry::add(Ref<ServerState> server) {
    static const int watching_forks = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    static_cast<void>(watching_forks);
    const std::scoped_lock guard(mutex_);
    servers_.push_back(std::move(server));
}

void ServerRegistry::prepare_exit() {
    if (delete_stopped() != 0) {
        static const int registered = on_exit(end_process_safely, nullptr);
        static_cast<void>(registered);
    }
}

std::size_t ServerRegistry::delete_stopped() noexcept {
    const std::scoped_lock guard(mutex_);
    for (const Ref<ServerState>& server : servers_) {
        if (!server->deletable()) {
            return servers_.size();
        }
    }
    for (const Ref<ServerState>& server : servers_) {
        server->delete_server();
    }
    servers_.clear();
    return 0;
}

}  // namespace triton_inprocess
