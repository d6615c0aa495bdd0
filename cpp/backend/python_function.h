// A Python function that serves as a model, as Triton's threads know it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/types.h"
#include "backend/byte_counts.h"
#include "backend/tensor_spec.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class PythonFunction final : public RefCounted {
  public:
    /// How it is called: `direct`, with the arrays of a batch; or a `runner` of triton_inprocess._function_runner calls
    /// it, which is given Executions and told of instances.
    enum class Call { direct, runner };

    /// When responses take over the memory of what it returns: when nobody else can reach it; always, which its author
    /// answers for; or never.
    enum class Adoption { when_sole, always, never };

    PythonFunction(std::string model_name, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs,
                   bool batched, Call call, Adoption adoption, bool copies_inputs)
        : model_name_(std::move(model_name)),
          inputs_(std::move(inputs)),
          outputs_(std::move(outputs)),
          batched_(batched),
          call_(call),
          adoption_(adoption),
          copies_inputs_(copies_inputs),
          watches_inputs_(!copies_inputs) {}

    const std::string& model_name() const noexcept { return model_name_; }
    const std::vector<TensorSpec>& inputs() const noexcept { return inputs_; }
    const std::vector<TensorSpec>& outputs() const noexcept { return outputs_; }

    /// Whether the first dimension of every tensor is the batch.
    bool batched() const noexcept { return batched_; }

    Call call() const noexcept { return call_; }
    Adoption adoption() const noexcept { return adoption_; }

    /// Whether it gets copies of the callers' memory.
    bool copies_inputs() const noexcept { return copies_inputs_; }

    /// Whether it is to be looked whether it keeps inputs, until it was warned of that.
    bool watches_inputs() const noexcept { return watches_inputs_.load(std::memory_order_relaxed); }
    /// True the first time.
    bool ends_watch() noexcept { return watches_inputs_.exchange(false); }

    ByteCounts& byte_counts() noexcept { return byte_counts_; }

    /// Which server it belongs to, once Triton has the model.
    void set_server(const TRITONSERVER_Server* server) noexcept { server_.store(server); }
    const TRITONSERVER_Server* server() const noexcept { return server_.load(); }

    /// How many executions there can be at once: one for each instance, or one thread for all.
    void instance_begins() noexcept { instances_.fetch_add(1); }
    void instance_ends() noexcept { instances_.fetch_sub(1); }
    void set_own_thread() noexcept { own_thread_.store(true); }
    int lanes() const noexcept { return own_thread_.load() ? 1 : instances_.load(); }

    /// How many of its executions wait for the model itself: returns that with this one.
    int self_wait_begins() noexcept { return self_waits_.fetch_add(1) + 1; }
    void self_wait_ends() noexcept { self_waits_.fetch_sub(1); }

    /// How many of Triton's models use it: one while it is loaded, none after Triton's finalization of the model.
    void model_begins() noexcept { models_.fetch_add(1); }
    void model_ends() noexcept { models_.fetch_sub(1); }
    int models() const noexcept { return models_.load(); }

    /// Whether Triton has loaded it from a model repository: it ends with Triton's model.
    void set_of_repository() noexcept { of_repository_.store(true); }
    bool of_repository() const noexcept { return of_repository_.load(); }

    /// The function itself, or nothing once its model was removed. Needs the GIL.
    nanobind::object function() const { return nanobind::borrow(function_); }

    /// The function is borrowed: a Python object that the garbage collector can see owns it, and calls this with null
    /// before it goes. Needs the GIL.
    void set_function(PyObject* function) noexcept { function_ = function; }

  private:
    std::string model_name_;
    std::vector<TensorSpec> inputs_;
    std::vector<TensorSpec> outputs_;
    bool batched_;
    Call call_;
    Adoption adoption_;
    bool copies_inputs_;
    std::atomic<bool> watches_inputs_;
    ByteCounts byte_counts_;
    std::atomic<int> models_{0};
    std::atomic<int> instances_{0};
    std::atomic<int> self_waits_{0};
    std::atomic<bool> own_thread_{false};
    std::atomic<bool> of_repository_{false};
    std::atomic<const TRITONSERVER_Server*> server_{nullptr};
    PyObject* function_ = nullptr;
};

}  // namespace triton_inprocess
