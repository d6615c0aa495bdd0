// The models that every fake server has.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "abi/types.h"

namespace fake_triton {

/// What a model does beside copying each input INPUT… to an output OUTPUT….
struct ModelBehaviour {
    bool decoupled = false;   ///< Answers as often as the request's parameter `responses` says, then with a flag alone.
    bool fails = false;       ///< Answers with an error.
    bool parameters = false;  ///< Answers with a parameter of every type.
    bool labels = false;      ///< Has classification labels.
    bool cached = false;      ///< Answers on the submitting thread, before the submission returns.
    std::vector<std::string> steps;  ///< The models of an ensemble: each gets a child trace.
};

struct Model {
    Model(std::string model_name, ModelBehaviour model_behaviour)
        : name(std::move(model_name)), behaviour(std::move(model_behaviour)) {}

    static constexpr std::int64_t version = 1;

    std::string metadata_json() const;
    std::string config_json() const;
    std::string statistics_json() const;
    std::string index_json() const;

    const std::string name;
    const ModelBehaviour behaviour;
    std::atomic<bool> ready{true};
    std::atomic<std::uint64_t> succeeded{0};
    std::atomic<std::uint64_t> failed{0};
};

class Models {
  public:
    Models();

    /// Null for a model or version that is not there.
    Model* find(const std::string& name, std::int64_t version = -1);

    /// A model that was loaded with a configuration of its own copies its inputs.
    Model& add(const std::string& name);

    /// "[…]" of what `describe` says of every model, or of every ready one.
    std::string to_json(std::string (Model::*describe)() const, bool ready_only);

  private:
    std::mutex mutex_;
    std::deque<Model> models_;  ///< They stay where they are.
};

}  // namespace fake_triton
