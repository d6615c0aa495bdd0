#include "model.h"

namespace fake_triton {
namespace {

std::string tensor_json(const std::string& name) {
    return R"({"name":")" + name + R"(","datatype":"FP32","shape":[-1]})";
}

std::string tensor_config_json(const std::string& name) {
    return R"({"name":")" + name + R"(","data_type":"TYPE_FP32","dims":[-1]})";
}

std::string count_json(std::uint64_t count) {
    return R"({"count":)" + std::to_string(count) + R"(,"ns":0})";
}

}  // namespace

std::string Model::metadata_json() const {
    return R"({"name":")" + name + R"(","versions":["1"],"platform":"fake","inputs":[)" + tensor_json("INPUT0") +
           R"(],"outputs":[)" + tensor_json("OUTPUT0") + "]}";
}

std::string Model::config_json() const {
    return R"({"name":")" + name + R"(","platform":"","backend":"fake","max_batch_size":0,"input":[)" +
           tensor_config_json("INPUT0") + R"(],"output":[)" + tensor_config_json("OUTPUT0") +
           R"(],"model_transaction_policy":{"decoupled":)" + (behaviour.decoupled ? "true" : "false") + "}}";
}

std::string Model::statistics_json() const {
    const std::uint64_t successes = succeeded.load();
    return R"({"name":")" + name + R"(","version":"1","last_inference":0,"inference_count":)" +
           std::to_string(successes) + R"(,"execution_count":)" + std::to_string(successes) +
           R"(,"inference_stats":{"success":)" + count_json(successes) + R"(,"fail":)" + count_json(failed.load()) +
           R"(},"batch_stats":[]})";
}

std::string Model::index_json() const {
    const bool is_ready = ready.load();
    return R"({"name":")" + name + R"(","version":"1","state":")" + (is_ready ? "READY" : "UNAVAILABLE") +
           R"(","reason":")" + (is_ready ? "" : "unloaded") + R"("})";
}

Models::Models() {
    const auto add_model = [this](const char* name, void (*change)(ModelBehaviour&)) {
        ModelBehaviour behaviour;
        change(behaviour);
        models_.emplace_back(name, behaviour);
    };
    add_model("identity", [](ModelBehaviour&) {});
    add_model("decoupled", [](ModelBehaviour& behaviour) { behaviour.decoupled = true; });
    add_model("error", [](ModelBehaviour& behaviour) { behaviour.fails = true; });
    add_model("parameters", [](ModelBehaviour& behaviour) { behaviour.parameters = true; });
    add_model("labels", [](ModelBehaviour& behaviour) { behaviour.labels = true; });
    add_model("cached", [](ModelBehaviour& behaviour) { behaviour.cached = true; });
    add_model("ensemble", [](ModelBehaviour& behaviour) { behaviour.steps = {"identity", "labels"}; });
}

Model* Models::find(const std::string& name, std::int64_t version) {
    const std::scoped_lock guard(mutex_);
    for (Model& model : models_) {
        if (model.name == name) {
            return version == -1 || version == Model::version ? &model : nullptr;
        }
    }
    return nullptr;
}

Model& Models::add(const std::string& name) {
    const std::scoped_lock guard(mutex_);
    return models_.emplace_back(name, ModelBehaviour());
}

std::string Models::to_json(std::string (Model::*describe)() const, bool ready_only) {
    std::string json;
    const std::scoped_lock guard(mutex_);
    for (const Model& model : models_) {
        if (!ready_only || model.ready.load()) {
            json += (json.empty() ? "" : ",") + (model.*describe)();
        }
    }
    return "[" + json + "]";
}

}  // namespace fake_triton
