#include "server.h"

#include <utility>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess::benchmarks {
namespace {

struct OptionsDeleter {
    void operator()(TRITONSERVER_ServerOptions* options) const noexcept {
        ignore(api().TRITONSERVER_ServerOptionsDelete(options));
    }
};

using Options = std::unique_ptr<TRITONSERVER_ServerOptions, OptionsDeleter>;

// Older runtimes lack some options; there is nothing to set then.
void check_if_supported(TRITONSERVER_Error* error) {
    if (error != nullptr && api().TRITONSERVER_ErrorCode(error) == TRITONSERVER_ERROR_UNSUPPORTED) {
        ignore(error);
        return;
    }
    check(error);
}

Options make_options(const std::string& model_repository, const std::string& backend_directory,
                     const std::string& model_name) {
    TRITONSERVER_ServerOptions* raw = nullptr;
    check(api().TRITONSERVER_ServerOptionsNew(&raw));
    Options options(raw);
    check(api().TRITONSERVER_ServerOptionsSetModelRepositoryPath(raw, model_repository.c_str()));
    check(api().TRITONSERVER_ServerOptionsSetBackendDirectory(raw, backend_directory.c_str()));
    // With explicit control the model can be unloaded before the stop, which then need not wait for a second.
    check(api().TRITONSERVER_ServerOptionsSetModelControlMode(raw, TRITONSERVER_MODEL_CONTROL_EXPLICIT));
    check(api().TRITONSERVER_ServerOptionsSetStartupModel(raw, model_name.c_str()));
    check(api().TRITONSERVER_ServerOptionsSetStrictModelConfig(raw, false));
    check(api().TRITONSERVER_ServerOptionsSetLogInfo(raw, false));
    check(api().TRITONSERVER_ServerOptionsSetLogWarn(raw, false));
    check(api().TRITONSERVER_ServerOptionsSetLogError(raw, true));  // says why a model fails to load
    check(api().TRITONSERVER_ServerOptionsSetMetrics(raw, true));
    // Uninitialised in some runtimes: a model that fails to load would be retried for ever.
    check_if_supported(api().TRITONSERVER_ServerOptionsSetModelLoadRetryCount(raw, 0));
    check_if_supported(api().TRITONSERVER_ServerOptionsSetEnablePeerAccess(raw, true));
    return options;
}

}  // namespace

Server::Server(const std::string& model_repository, const std::string& backend_directory, std::string model_name)
    : model_name_(std::move(model_name)) {
    const Options options = make_options(model_repository, backend_directory, model_name_);
    check(api().TRITONSERVER_ServerNew(&server_, options.get()));
}

Server::~Server() {
    ignore(api().TRITONSERVER_ServerUnloadModel(server_, model_name_.c_str()));
    TRITONSERVER_Error* error = api().TRITONSERVER_ServerStop(server_);
    if (error != nullptr) {
        ignore(error);  // something is still in use, so deleting would crash: leave the server to the process's end
        return;
    }
    ignore(api().TRITONSERVER_ServerDelete(server_));
}

}  // namespace triton_inprocess::benchmarks
