#include "bindings/trace_queue.h"

#include <utility>

#include "bindings/gil.h"
#include "bindings/trace_record.h"
#include "core/server.h"
#include "core/trace_queue.h"
#include "core/tracer.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

struct QueueHandle {
    Ref<TraceQueue> queue;
};

bool wait(const QueueHandle& self) {
    const Ref<TraceQueue> queue = self.queue;
    const ReleaseGil guard;
    return queue->wait();
}

nb::tuple take(const QueueHandle& self) {
    TraceQueue::Batch batch = self.queue->take();
    nb::list records;
    for (Ref<TraceRecord>& record : batch.traces) {
        records.append(nb::cast(TraceHandle{std::move(record), nullptr}));
    }
    return nb::make_tuple(records, batch.dropped);
}

}  // namespace

void register_trace_queue(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<QueueHandle>(module, "TraceQueue", "Traces that are complete; filled by threads that need no GIL.")
        .def(
            "__init__",
            [](QueueHandle* self, std::size_t capacity) { new (self) QueueHandle{make_ref<TraceQueue>(capacity)}; },
            "capacity"_a, "A queue of so many traces at most; those that come when it is full are dropped.")
        .def("wait", &wait,
             "Sleep until there is something to take; False once the queue is closed and empty, and nothing will come.")
        .def("take", &take, nb::sig("def take(self) -> tuple[list[TraceRecord], int]"),
             "The traces that have come, and how many were dropped after them.")
        .def(
            "record",
            [](const QueueHandle& self, bool tensors, nb::object context) {
                return make_trace_record(tensors, self.queue, std::move(context));
            },
            "tensors"_a, "context"_a.none(), nb::sig("def record(self, tensors: bool, context: object) -> TraceRecord"),
            "A record for one request, which comes here when it is complete; `context` comes back with it.")
        .def(
            "close", [](const QueueHandle& self) { self.queue->close(); },
            "No trace begins any more; those that did are waited for, at most a second.");
    module.def(
        "trace_requests",
        [](const Server& server, const QueueHandle& queue, bool tensors, std::uint64_t rate) {
            server.state()->trace_with(make_ref<Tracer>(queue.queue, tensors, rate));
        },
        "server"_a, "queue"_a, "tensors"_a, "rate"_a,
        "Trace every `rate`th request of the server that has no trace of its own. Called before the first request.");
}

}  // namespace triton_inprocess
