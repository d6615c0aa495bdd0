#include "bindings/trace_record.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/runtime.h"
#include "bindings/shape.h"
#include "tensor/tensor.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using Clock = std::chrono::steady_clock;

// How long a signal such as Ctrl-C can go unanswered.
constexpr std::chrono::milliseconds signal_interval(50);

nb::object tensor_of(const TraceRecord::TensorActivity& told) {
    if (!told.copy) {
        return nb::none();
    }
    try {
        return nb::cast(Tensor(told.data_type, told.shape, told.copy));
    } catch (const Error&) {  // a part of a tensor, whose bytes are not all of its shape
        return nb::none();
    }
}

nb::tuple tuple_of(const TraceRecord::Node& node) {
    nb::list activities;
    for (const TraceRecord::Activity& each : node.activities) {
        activities.append(nb::make_tuple(each.activity, each.timestamp_ns));
    }
    nb::list tensors;
    for (const TraceRecord::TensorActivity& each : node.tensors) {
        tensors.append(nb::make_tuple(each.activity, each.name, each.data_type, shape_tuple(each.shape), each.byte_size,
                                      each.memory_type, each.memory_type_id, tensor_of(each)));
    }
    return nb::make_tuple(node.id, node.parent_id, node.model_name, node.model_version, node.request_id, activities,
                          tensors, node.error ? to_exception(*node.error) : nb::object(nb::none()));
}

nb::tuple snapshot(const TraceHandle& self) {
    const TraceRecord::Snapshot told = self.record->snapshot();
    nb::list nodes;
    for (const TraceRecord::Node& node : told.nodes) {
        nodes.append(tuple_of(node));
    }
    return nb::make_tuple(self.child ? self.child->id() : told.root_id, told.done, nodes);
}

bool wait(const TraceHandle& self, std::optional<double> seconds) {
    const Ref<TraceRecord> record = self.record;
    // A day and a century are the same to whoever waits, and a century in nanoseconds is too much for the clock.
    constexpr double longest = 1e6;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(std::min(seconds.value_or(longest), longest)));
    for (;;) {
        bool done = false;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        const bool last = seconds.has_value() && left <= signal_interval;
        {
            const ReleaseGil guard;
            done = record->wait_for(last ? std::max(left, std::chrono::milliseconds(0)) : signal_interval);
        }
        if (done || (last && Clock::now() >= end)) {
            return done;
        }
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
    }
}

/// An object that a record holds; the last one to drop that may be one of Triton's threads.
class Context final : public RefCounted {
  public:
    explicit Context(nb::object value) : value_(value.release().ptr()) {}
    ~Context() override { let_go(value_); }

    nb::handle value() const noexcept { return value_; }

  private:
    PyObject* value_;
};

nb::object context(const TraceHandle& self) {
    const auto* const held = static_cast<const Context*>(self.record->attachment().get());
    return held != nullptr ? nb::borrow(held->value()) : nb::none();
}

}  // namespace

TraceHandle make_trace_record(bool with_tensors, Ref<TraceQueue> queue, nb::object context) {
    auto record = make_ref<TraceRecord>(with_tensors, std::move(queue));
    record->attach(make_ref<Context>(std::move(context)));
    return TraceHandle{std::move(record), nullptr};
}

void register_trace_record(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<TraceHandle>(module, "TraceRecord", "What Triton has told of a traced request.")
        .def(
            "__init__",
            [](TraceHandle* self, bool tensors) {
                ensure_runtime();
                new (self) TraceHandle{make_ref<TraceRecord>(tensors), nullptr};
            },
            "tensors"_a, "A record for one request, with or without its tensors.")
        .def_prop_ro(
            "done", [](const TraceHandle& self) { return self.record->done(); }, "Whether it is complete.")
        .def_prop_ro("context", &context, "What it was made with by a TraceQueue, or None.")
        .def("wait", &wait, "seconds"_a.none(), "Sleep until it is complete; False when the time is over before.")
        .def("snapshot", &snapshot,
             nb::sig("def snapshot(self) -> tuple[int, bool, list[tuple[int, int, str, int, str | None, "
                     "list[tuple[InferenceTraceActivity, int]], list[tuple[InferenceTraceActivity, str, DataType, "
                     "tuple[int, ...], int, MemoryType, int, Tensor | None]], "
                     "triton_inprocess.errors.TritonError | None]]]"),
             "What was told so far: (id, complete, traces).")
        .def(
            "spawn_child",
            [](const TraceHandle& self) {
                return TraceHandle{self.record, self.child ? self.child->spawn_child() : self.record->spawn_child()};
            },
            "A record of the same traces, for a request that this one leads to.");
}

}  // namespace triton_inprocess
