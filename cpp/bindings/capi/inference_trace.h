// The binding of a trace, and of the Python functions that it tells.
#pragma once

#include <nanobind/nanobind.h>

#include <array>

#include "bindings/held_object.h"
#include "core/inference_trace.h"

namespace triton_inprocess {

class PythonTraceObserver final : public TraceObserver {
  public:
    /// `tensor_activity` may be not valid.
    PythonTraceObserver(nanobind::object activity, nanobind::object tensor_activity, nanobind::object release,
                        nanobind::object user_object) noexcept;
    ~PythonTraceObserver() override { on_end(); }

    void on_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                     std::uint64_t timestamp_ns) noexcept override;
    void on_tensor_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                            const TracedTensor& tensor) noexcept override;
    void on_release(const Ref<InferenceTrace>& trace) noexcept override;
    void on_end() noexcept override;

    std::array<PyObject*, 4> held() const noexcept { return {activity_, tensor_activity_, release_, user_object_}; }

  private:
    PyObject* activity_;
    PyObject* tensor_activity_;
    PyObject* release_;
    PyObject* user_object_;
};

class CapiTrace {
  public:
    /// A trace that Triton or `parent`, the object of another trace, has made.
    explicit CapiTrace(Ref<InferenceTrace> trace, nanobind::object parent = {}) noexcept
        : trace_(std::move(trace)), parent_(std::move(parent)) {}

    /// A trace that the user has made: it holds the functions for as long as Triton does not know it.
    CapiTrace(Ref<InferenceTrace> trace, Ref<PythonTraceObserver> observer) noexcept
        : trace_(std::move(trace)), observer_(std::move(observer)) {}

    const Ref<InferenceTrace>& get() const;

    std::array<PyObject*, 5> held() const noexcept;
    void let_go() noexcept;

  private:
    Ref<InferenceTrace> trace_;
    Ref<PythonTraceObserver> observer_;
    HeldObject parent_;  ///< So that the collector finds the functions that both tell.
};

void register_inference_trace(nanobind::module_& module);

}  // namespace triton_inprocess
