#include "backend/model_loader.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backend/function_registry.h"
#include "backend/runner_call.h"
#include "bindings/cached_attribute.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "core/message.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute model_maker("triton_inprocess._python_models", "make_model");

/// What Python made: where the registry has it, and the configuration that its author has completed.
using Made = std::pair<std::string, std::optional<std::string>>;

std::string config_of(TRITONBACKEND_Model* model) {
    TRITONSERVER_Message* config = nullptr;
    check(api().TRITONBACKEND_ModelConfig(model, 1, &config));
    return Message(config).to_json();
}

void set_config(TRITONBACKEND_Model* model, const std::string& json) {
    struct Delete {
        void operator()(TRITONSERVER_Message* message) const noexcept {
            ignore(api().TRITONSERVER_MessageDelete(message));
        }
    };
    TRITONSERVER_Message* made = nullptr;
    check(api().TRITONSERVER_MessageNewFromSerializedJson(&made, json.data(), json.size()));
    const std::unique_ptr<TRITONSERVER_Message, Delete> config(made);
    check(api().TRITONBACKEND_ModelSetConfig(model, 1, config.get()));
}

/// The folder of the backend, which tells the server: each has its own.
std::string backend_directory(TRITONBACKEND_Model* model) {
    TRITONBACKEND_Backend* backend = nullptr;
    check(api().TRITONBACKEND_ModelBackend(model, &backend));
    TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
    const char* location = nullptr;
    check(api().TRITONBACKEND_BackendArtifacts(backend, &type, &location));
    return location;
}

Made make_model(TRITONBACKEND_Model* model, const std::string& directory) {
    const char* name = nullptr;
    check(api().TRITONBACKEND_ModelName(model, &name));
    std::uint64_t version = 0;
    check(api().TRITONBACKEND_ModelVersion(model, &version));
    bool completes = false;
    check(api().TRITONBACKEND_ModelAutoCompleteConfig(model, &completes));
    const std::string backend = backend_directory(model);
    const std::string config = config_of(model);
    const NativeThreadGil gil;
    try {
        const nb::tuple arguments = nb::make_tuple(backend, directory, name, version, config, completes);
        const NativeThreadObject made(call_on_native_thread(model_maker.get().ptr(), arguments.ptr(), nullptr));
        if (made.get() == nullptr) {
            throw take_function_error();
        }
        return nb::cast<Made>(nb::handle(made.get()));
    } catch (nb::python_error& error) {  // of ours: making the arguments failed
        error.restore();
        throw take_function_error();
    }
}

}  // namespace

Ref<PythonFunction> load_python_model(TRITONBACKEND_Model* model, const std::string& directory) {
    const auto [key, completed] = make_model(model, directory);
    Ref<PythonFunction> function = FunctionRegistry::instance().find(key);
    if (!function) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the server of the model in '" + directory + "' is gone");
    }
    try {
        if (completed) {
            set_config(model, *completed);
        }
        begin_model(*function, config_of(model));
    } catch (const Error&) {
        end_model(*function);
        throw;
    }
    function->set_of_repository();
    return function;
}

}  // namespace triton_inprocess
