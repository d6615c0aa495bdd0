#include "bindings/capi/inference_trace.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/callback.h"
#include "bindings/garbage_collection.h"
#include "bindings/runtime.h"
#include "bindings/shape.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

constexpr std::uint32_t all_levels = TRITONSERVER_TRACE_LEVEL_MIN | TRITONSERVER_TRACE_LEVEL_MAX |
                                     TRITONSERVER_TRACE_LEVEL_TIMESTAMPS | TRITONSERVER_TRACE_LEVEL_TENSORS;

void make(CapiTrace* self, nb::handle level, nb::handle parent_id, nb::object activity, nb::object tensor_activity,
          nb::object release, nb::object user_object) {
    ensure_runtime();
    const auto bits = static_cast<std::uint32_t>(unsigned_argument("level", level, all_levels));
    const std::uint64_t parent = unsigned_argument("parent_id", parent_id, std::numeric_limits<std::uint64_t>::max());
    const bool with_tensors = tensor_activity.is_valid();
    nb::object on_activity = callable_argument("activity_function", std::move(activity));
    nb::object on_tensor =
        with_tensors ? callable_argument("tensor_activity_function", std::move(tensor_activity)) : nb::object();
    nb::object on_release = callable_argument("release_function", std::move(release));
    Ref<PythonTraceObserver> observer = make_ref<PythonTraceObserver>(std::move(on_activity), std::move(on_tensor),
                                                                      std::move(on_release), std::move(user_object));
    Ref<InferenceTrace> trace = InferenceTrace::make(bits, parent, with_tensors, observer);
    new (self) CapiTrace(std::move(trace), std::move(observer));
}

void make_with_timestamps(CapiTrace* self, nb::handle level, nb::handle parent_id, nb::object activity,
                          nb::object release, nb::object user_object) {
    make(self, level, parent_id, std::move(activity), nb::object(), std::move(release), std::move(user_object));
}

}  // namespace

PythonTraceObserver::PythonTraceObserver(nb::object activity, nb::object tensor_activity, nb::object release,
                                         nb::object user_object) noexcept
    : activity_(activity.release().ptr()),
      tensor_activity_(tensor_activity.release().ptr()),
      release_(release.release().ptr()),
      user_object_(user_object.release().ptr()) {}

void PythonTraceObserver::on_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                                      std::uint64_t timestamp_ns) noexcept {
    const CallbackGil gil;
    call_back_and_report(activity_, CapiTrace(trace), activity, timestamp_ns, nb::handle(user_object_));
}

void PythonTraceObserver::on_tensor_activity(const Ref<InferenceTrace>& trace,
                                             TRITONSERVER_InferenceTraceActivity activity,
                                             const TracedTensor& tensor) noexcept {
    const CallbackGil gil;
    call_back_and_report(tensor_activity_, CapiTrace(trace), activity, tensor.name, tensor.data_type,
                         reinterpret_cast<std::uintptr_t>(tensor.data), tensor.byte_size,
                         shape_tuple({tensor.shape, tensor.shape + tensor.rank}), tensor.memory_type,
                         tensor.memory_type_id, nb::handle(user_object_));
}

void PythonTraceObserver::on_release(const Ref<InferenceTrace>& trace) noexcept {
    const CallbackGil gil;
    call_back_and_report(release_, CapiTrace(trace), nb::handle(user_object_));
}

void PythonTraceObserver::on_end() noexcept {
    for (PyObject** const object : {&activity_, &tensor_activity_, &release_, &user_object_}) {
        if (PyObject* const last = std::exchange(*object, nullptr)) {
            triton_inprocess::let_go(last);
        }
    }
}

const Ref<InferenceTrace>& CapiTrace::get() const {
    if (!trace_) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the trace was collected as garbage");
    }
    return trace_;
}

std::array<PyObject*, 5> CapiTrace::held() const noexcept {
    std::array<PyObject*, 5> objects{};
    // Once Triton has a trace of the tree, the functions are not the user's objects' alone.
    if (trace_ && observer_ && trace_->tree().unsent()) {
        const auto functions = observer_->held();
        std::copy(functions.begin(), functions.end(), objects.begin());
    }
    objects.back() = parent_.ptr();
    return objects;
}

void CapiTrace::let_go() noexcept {
    trace_ = nullptr;
    observer_ = nullptr;
    parent_.reset();
}

void register_inference_trace(nb::module_& module) {
    using namespace nb::literals;
    const auto property = [](auto getter) {
        return [getter](const CapiTrace& self) { return ((*self.get()).*getter)(); };
    };
    nb::class_<CapiTrace>(
        module, "TRITONSERVER_InferenceTrace", nb::type_slots(garbage_collection_slots<CapiTrace>()),
        "A trace of one request (TRITONSERVER_InferenceTrace). It is for one TRITONSERVER_Server.infer_async; the "
        "models that answer may spawn more traces from it, which tell the same functions. Its properties can be read "
        "even when it is released. What its functions raise goes to sys.unraisablehook.")
        .def("__init__", &make_with_timestamps, "level"_a, "parent_id"_a, "activity_function"_a, "release_function"_a,
             "trace_userp"_a.none(),
             nb::sig("def __init__(self, level: int, parent_id: int, activity_function: "
                     "triton_inprocess._types.TraceActivityFunction, release_function: "
                     "triton_inprocess._types.TraceReleaseFunction, trace_userp: typing.Any) -> None"),
             "A trace without tensors (TRITONSERVER_InferenceTraceNew).\n\n"
             "Args:\n"
             "    level: What is told: TRITONSERVER_InferenceTraceLevel, combined with |.\n"
             "    parent_id: The id of the trace that this one belongs to, or 0.\n"
             "    activity_function: Is called with (trace, activity, timestamp_ns, user_object).\n"
             "    release_function: Is called with (trace, user_object) when Triton has done with a trace.\n"
             "    trace_userp: The user_object; it lives until the last trace is released.")
        .def("__init__", &make, "level"_a, "parent_id"_a, "activity_function"_a, "tensor_activity_function"_a,
             "release_function"_a, "trace_userp"_a.none(),
             nb::sig("def __init__(self, level: int, parent_id: int, activity_function: "
                     "triton_inprocess._types.TraceActivityFunction, tensor_activity_function: "
                     "triton_inprocess._types.TensorActivityFunction, release_function: "
                     "triton_inprocess._types.TraceReleaseFunction, trace_userp: typing.Any) -> None"),
             "A trace that is told of tensors, too (TRITONSERVER_InferenceTraceTensorNew): "
             "`tensor_activity_function` is called with (trace, activity, name, data_type, address, byte_size, shape, "
             "memory_type, memory_type_id, user_object), and the memory is valid only meanwhile.")
        .def_prop_ro("id", property(&InferenceTrace::id), "A number of its own (TRITONSERVER_InferenceTraceId).")
        .def_prop_ro("parent_id", property(&InferenceTrace::parent_id),
                     "The id of the trace that it was spawned from (TRITONSERVER_InferenceTraceParentId).")
        .def_prop_ro("model_name", property(&InferenceTrace::model_name),
                     "The model that is traced (TRITONSERVER_InferenceTraceModelName).")
        .def_prop_ro("model_version", property(&InferenceTrace::model_version),
                     "The version of that model (TRITONSERVER_InferenceTraceModelVersion).")
        .def_prop_ro("request_id", property(&InferenceTrace::request_id),
                     "The id of the request (TRITONSERVER_InferenceTraceRequestId, from C API 1.19).")
        .def_prop_rw(
            "context", property(&InferenceTrace::context),
            [](const CapiTrace& self, const std::string& context) { self.get()->set_context(context); },
            "What is handed on to whatever the request leads to (TRITONSERVER_InferenceTraceContext, …SetContext, from "
            "C API 1.29).")
        .def(
            "report_activity",
            [](const CapiTrace& self, std::uint64_t timestamp, const std::string& activity_name) {
                const Ref<InferenceTrace>& trace = self.get();
                const ReleaseGil released;
                trace->report_activity(timestamp, activity_name);
            },
            "timestamp"_a, "activity_name"_a,
            "Tell the activity function of an activity of your own, CUSTOM_ACTIVITY "
            "(TRITONSERVER_InferenceTraceReportActivity, from C API 1.33).")
        .def(
            "spawn_child_trace",
            [](const CapiTrace& self) {
                Ref<InferenceTrace> child = self.get()->spawn_child();
                return CapiTrace(std::move(child), nb::find(self));
            },
            nb::sig("def spawn_child_trace(self) -> TRITONSERVER_InferenceTrace"),
            "A trace of the same functions with this one as its parent "
            "(TRITONSERVER_InferenceTraceSpawnChildTrace, from C API 1.24).");
}

}  // namespace triton_inprocess
