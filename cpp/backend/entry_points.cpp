// What Triton calls: this extension is its own backend.
#include <cstdint>
#include <exception>
#include <string>

#include "backend/batch.h"
#include "backend/function_registry.h"
#include "backend/model_loader.h"
#include "backend/runner_call.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

/// Runs `body`, which may throw, where only a C error may come out.
template <typename Body>
TRITONSERVER_Error* guarded(Body body) noexcept {
    try {
        body();
        return nullptr;
    } catch (const Error& error) {
        return error.to_c();
    } catch (const std::exception& error) {
        return Error(TRITONSERVER_ERROR_INTERNAL, error.what()).to_c();
    }
}

std::string model_directory(TRITONBACKEND_Model* model) {
    TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
    const char* location = nullptr;
    check(api().TRITONBACKEND_ModelRepository(model, &type, &location));
    return location;
}

/// The backend that `add_model` gives its models.
constexpr const char* own_name = "triton_inprocess";

/// This extension serves under several names.
std::string backend_name(TRITONBACKEND_Model* model) {
    TRITONBACKEND_Backend* backend = nullptr;
    check(api().TRITONBACKEND_ModelBackend(model, &backend));
    const char* name = nullptr;
    check(api().TRITONBACKEND_BackendName(backend, &name));
    return name;
}

void initialize_model(TRITONBACKEND_Model* model) {
    std::uint64_t version = 0;
    check(api().TRITONBACKEND_ModelVersion(model, &version));
    const std::string directory = model_directory(model) + "/" + std::to_string(version);
    Ref<PythonFunction> function = FunctionRegistry::instance().find(directory);
    if (!function && backend_name(model) != own_name) {
        function = load_python_model(model, model_directory(model));
    }
    if (!function) {
        throw Error(TRITONSERVER_ERROR_NOT_FOUND, "no Python function of this process belongs to '" + directory +
                                                      "': models with the backend triton_inprocess are made by "
                                                      "Server.add_model");
    }
    check(api().TRITONBACKEND_ModelSetState(model, function.get()));
    TRITONSERVER_Server* server = nullptr;
    check(api().TRITONBACKEND_ModelServer(model, &server));
    function->set_server(server);
    function->model_begins();
    static_cast<void>(function.detach());
}

PythonFunction* function_of(TRITONBACKEND_Model* model) {
    void* state = nullptr;
    check(api().TRITONBACKEND_ModelState(model, &state));
    return static_cast<PythonFunction*>(state);
}

void finalize_model(TRITONBACKEND_Model* model) {
    const auto function = Ref<PythonFunction>::adopt(function_of(model));
    if (function) {
        function->model_ends();
        if (function->of_repository()) {
            end_model(*function);
        }
    }
}

PythonFunction* function_of_instance(TRITONBACKEND_ModelInstance* instance) {
    TRITONBACKEND_Model* model = nullptr;
    check(api().TRITONBACKEND_ModelInstanceModel(instance, &model));
    return function_of(model);
}

void initialize_instance(TRITONBACKEND_ModelInstance* instance) {
    Ref<PythonFunction> function(function_of_instance(instance));
    if (function->call() == PythonFunction::Call::runner) {
        begin_instance(*function, instance);
    }
    // What tells the finalization that there was an initialization: Triton calls it also after one that failed. A
    // reference of its own, for the model may be finalized first.
    check(api().TRITONBACKEND_ModelInstanceSetState(instance, function.get()));
    function->instance_begins();
    static_cast<void>(function.detach());
}

void finalize_instance(TRITONBACKEND_ModelInstance* instance) {
    void* state = nullptr;
    check(api().TRITONBACKEND_ModelInstanceState(instance, &state));
    const auto function = Ref<PythonFunction>::adopt(static_cast<PythonFunction*>(state));
    if (!function) {
        return;
    }
    function->instance_ends();
    if (function->call() == PythonFunction::Call::runner) {
        end_instance(*function, instance);
    }
}

void require_instance_ready(TRITONBACKEND_ModelInstance* instance) {
    PythonFunction* const function = function_of_instance(instance);
    if (function != nullptr && function->of_repository()) {
        require_ready(*function, instance);
    }
}

void execute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count) {
    execute_batch(*function_of_instance(instance), instance, requests, count);
}

}  // namespace
}  // namespace triton_inprocess

extern "C" {

#define TRITON_INPROCESS_EXPORT __attribute__((visibility("default")))

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
    return triton_inprocess::guarded([&] { triton_inprocess::initialize_model(model); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
    return triton_inprocess::guarded([&] { triton_inprocess::finalize_model(model); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(
    TRITONBACKEND_ModelInstance* instance) {
    return triton_inprocess::guarded([&] { triton_inprocess::initialize_instance(instance); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance* instance) {
    return triton_inprocess::guarded([&] { triton_inprocess::finalize_instance(instance); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReady(TRITONBACKEND_ModelInstance* instance) {
    return triton_inprocess::guarded([&] { triton_inprocess::require_instance_ready(instance); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                                               TRITONBACKEND_Request** requests,
                                                                               const std::uint32_t request_count) {
    return triton_inprocess::guarded([&] { triton_inprocess::execute(instance, requests, request_count); });
}
}
