#include "bindings/python_function.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/batch.h"
#include "backend/function_registry.h"
#include "bindings/garbage_collection.h"
#include "bindings/held_object.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using SpecTuple = std::tuple<std::string, TRITONSERVER_DataType, std::vector<std::int64_t>>;

PythonFunction::Adoption to_adoption(const std::string& name) {
    if (name == "auto") {
        return PythonFunction::Adoption::when_sole;
    }
    if (name != "always" && name != "never") {
        throw nb::value_error(("adopt must be 'auto', 'always' or 'never', not '" + name + "'").c_str());
    }
    return name == "always" ? PythonFunction::Adoption::always : PythonFunction::Adoption::never;
}

std::vector<TensorSpec> to_specs(const std::vector<SpecTuple>& tuples) {
    std::vector<TensorSpec> specs;
    specs.reserve(tuples.size());
    for (const auto& [name, data_type, shape] : tuples) {
        specs.push_back({name, data_type, shape});
    }
    return specs;
}

/// Owns the callable where the garbage collector can see it; Triton's threads borrow it through the PythonFunction.
class FunctionOwner {
  public:
    FunctionOwner(nb::object callable, std::string directory, const std::string& model_name,
                  const std::vector<SpecTuple>& inputs, const std::vector<SpecTuple>& outputs, bool batched,
                  bool runner, const std::string& adopt, bool copy_inputs)
        : callable_(std::move(callable)),
          directory_(std::move(directory)),
          function_(make_ref<PythonFunction>(model_name, to_specs(inputs), to_specs(outputs), batched,
                                             runner ? PythonFunction::Call::runner : PythonFunction::Call::direct,
                                             to_adoption(adopt), copy_inputs)) {
        function_->set_function(callable_.ptr());
        FunctionRegistry::instance().add(directory_, function_);
    }
    ~FunctionOwner() { close(); }
    FunctionOwner(const FunctionOwner&) = delete;
    FunctionOwner& operator=(const FunctionOwner&) = delete;

    /// Takes its place again, in which another function was tried.
    void restore() { FunctionRegistry::instance().add(directory_, function_); }

    /// From now on the model has no function: what Triton still sends it fails.
    void close() noexcept {
        FunctionRegistry::instance().remove(directory_, *function_);
        function_->set_function(nullptr);
        callable_.reset();
    }

    /// Whether Triton has the model still.
    bool loaded() const noexcept { return function_->models() > 0; }

    using Counts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
    Counts byte_counts() const noexcept {
        const ByteCounts& counts = function_->byte_counts();
        return {counts.inputs_shared, counts.inputs_copied, counts.outputs_adopted, counts.outputs_copied};
    }

    std::array<PyObject*, 1> held() const noexcept { return {callable_.ptr()}; }
    void let_go() noexcept { close(); }

  private:
    HeldObject callable_;
    std::string directory_;
    Ref<PythonFunction> function_;
};

}  // namespace

void register_python_function(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<FunctionOwner>(module, "PythonFunction", nb::type_slots(garbage_collection_slots<FunctionOwner>()),
                              "A Python function that serves as the model in the version folder `directory`.")
        .def(nb::init<nb::object, std::string, const std::string&, const std::vector<SpecTuple>&,
                      const std::vector<SpecTuple>&, bool, bool, const std::string&, bool>(),
             "function"_a, "directory"_a, "model_name"_a, "inputs"_a, "outputs"_a, "batched"_a, "runner"_a,
             "adopt"_a = "auto", "copy_inputs"_a = false)
        .def_prop_ro("loaded", &FunctionOwner::loaded, "Whether Triton has the model still, or again.")
        .def_prop_ro("byte_counts", &FunctionOwner::byte_counts,
                     "Bytes of inputs that were shared and copied, and of outputs that were adopted and copied.")
        .def("restore", &FunctionOwner::restore, "Take the folder's place again, in which another was tried.")
        .def("close", &FunctionOwner::close);
    module.def(
        "executing_model",
        []() -> std::optional<std::string> {
            const PythonFunction* const function = executing_function();
            return function != nullptr ? std::optional<std::string>(function->model_name()) : std::nullopt;
        },
        "The name of the model whose function calls this, on the thread that executes it; else None.");
}

}  // namespace triton_inprocess
