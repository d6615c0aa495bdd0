// What Triton calls: this extension is its own backend.
#include <exception>
#include <string>

#include "backend/batch.h"
#include "backend/function_registry.h"
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

void initialize_model(TRITONBACKEND_Model* model) {
    const std::string directory = model_directory(model);
    Ref<PythonFunction> function = FunctionRegistry::instance().find(directory);
    if (!function) {
        throw Error(TRITONSERVER_ERROR_NOT_FOUND, "no Python function of this process belongs to '" + directory +
                                                      "': models with the backend triton_inprocess are made by "
                                                      "Server.add_model");
    }
    check(api().TRITONBACKEND_ModelSetState(model, function.get()));
    static_cast<void>(function.detach());
}

PythonFunction* function_of(TRITONBACKEND_Model* model) {
    void* state = nullptr;
    check(api().TRITONBACKEND_ModelState(model, &state));
    return static_cast<PythonFunction*>(state);
}

void execute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count) {
    TRITONBACKEND_Model* model = nullptr;
    check(api().TRITONBACKEND_ModelInstanceModel(instance, &model));
    execute_batch(*function_of(model), instance, requests, count);
}

}  // namespace
}  // namespace triton_inprocess

extern "C" {

#define TRITON_INPROCESS_EXPORT __attribute__((visibility("default")))

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
    return triton_inprocess::guarded([&] { triton_inprocess::initialize_model(model); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
    return triton_inprocess::guarded(
        [&] { triton_inprocess::Ref<triton_inprocess::PythonFunction>::adopt(triton_inprocess::function_of(model)); });
}

TRITON_INPROCESS_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                                               TRITONBACKEND_Request** requests,
                                                                               const std::uint32_t request_count) {
    return triton_inprocess::guarded([&] { triton_inprocess::execute(instance, requests, request_count); });
}
}
