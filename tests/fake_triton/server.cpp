#include "server.h"

#include <chrono>
#include <unordered_set>

#include "breach.h"
#include "error.h"

using namespace fake_triton;

namespace {

/// Servers that were not stopped.
struct Running {
    static Running& instance() {
        static auto* const running = new Running;
        return *running;
    }

    std::mutex mutex;
    std::unordered_set<TRITONSERVER_Server*> servers;
};

}  // namespace

TRITONSERVER_Server::TRITONSERVER_Server(const TRITONSERVER_ServerOptions& options)
    : id(options.server_id),
      control_mode(options.control_mode),
      metrics(options.metrics),
      exit_timeout_(options.exit_timeout),
      repositories_(options.repositories.begin(), options.repositories.end()),
      workers(3) {
    const std::scoped_lock guard(Running::instance().mutex);
    Running::instance().servers.insert(this);
}

TRITONSERVER_Server::~TRITONSERVER_Server() {
    delete stop();
    const std::scoped_lock guard(mutex_, Running::instance().mutex);
    if (users_ != 0) {
        breach(describe(this, type_name) + " is deleted before " + std::to_string(users_) +
               " of its requests and responses");
    }
    if (calls.load() != 0) {
        breach(describe(this, type_name) + " is deleted during a call of TRITONSERVER_ServerInferAsync");
    }
    if (!Running::instance().servers.empty()) {
        breach(describe(this, type_name) + " is deleted while another server runs");
    }
}

TRITONSERVER_Error* TRITONSERVER_Server::stop() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopping_) {
        return nullptr;
    }
    stopping_ = true;
    const bool free = changed_.wait_for(lock, std::chrono::seconds(exit_timeout_), [this] { return users_ == 0; });
    {
        const std::scoped_lock guard(Running::instance().mutex);
        Running::instance().servers.erase(this);
    }
    return free ? nullptr : failure(TRITONSERVER_ERROR_INTERNAL, "Exit timeout expired. Exiting immediately.");
}

bool TRITONSERVER_Server::running() {
    const std::scoped_lock guard(mutex_);
    return !stopping_;
}

void TRITONSERVER_Server::set_exit_timeout(unsigned seconds) {
    const std::scoped_lock guard(mutex_);
    exit_timeout_ = seconds;
}

TRITONSERVER_Error* TRITONSERVER_Server::find_ready(const std::string& name, std::int64_t version, Model*& model) {
    if (!running()) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "the server is stopping");
    }
    model = models.find(name, version);
    if (model == nullptr) {
        return failure(TRITONSERVER_ERROR_NOT_FOUND,
                       "unknown model '" + name + "', version " + std::to_string(version));
    }
    if (!model->ready.load()) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "model '" + name + "' is not ready");
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Server::require_control() const {
    if (control_mode != TRITONSERVER_MODEL_CONTROL_EXPLICIT) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "explicit model control is off");
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Server::load(const std::string& name, bool with_own_config) {
    if (TRITONSERVER_Error* error = require_control()) {
        return error;
    }
    Model* model = models.find(name);
    if (model == nullptr && with_own_config) {
        model = &models.add(name);
    }
    if (model == nullptr) {
        return failure(TRITONSERVER_ERROR_NOT_FOUND, "model '" + name + "' is in no model repository");
    }
    model->ready.store(true);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Server::unload(const std::string& name) {
    if (TRITONSERVER_Error* error = require_control()) {
        return error;
    }
    if (Model* const model = models.find(name)) {
        model->ready.store(false);
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Server::add_repository(const std::string& path) {
    if (TRITONSERVER_Error* error = require_control()) {
        return error;
    }
    const std::scoped_lock guard(mutex_);
    if (!repositories_.insert(path).second) {
        return failure(TRITONSERVER_ERROR_ALREADY_EXISTS, "model repository '" + path + "' is registered already");
    }
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Server::remove_repository(const std::string& path) {
    if (TRITONSERVER_Error* error = require_control()) {
        return error;
    }
    const std::scoped_lock guard(mutex_);
    if (repositories_.erase(path) == 0) {
        return failure(TRITONSERVER_ERROR_NOT_FOUND, "model repository '" + path + "' is not registered");
    }
    return nullptr;
}

void TRITONSERVER_Server::add_user() {
    const std::scoped_lock guard(mutex_);
    ++users_;
}

void TRITONSERVER_Server::remove_user() {
    const std::scoped_lock guard(mutex_);
    --users_;
    // Under the lock: who waits may delete the server.
    changed_.notify_all();
}
