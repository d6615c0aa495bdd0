// What a trace has told, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "core/trace_queue.h"
#include "core/trace_record.h"

namespace triton_inprocess {

/// A record, and which of its traces is meant: the root, or a child that it has spawned.
struct TraceHandle {
    Ref<TraceRecord> record;
    Ref<InferenceTrace> child;
};

/// A record that goes to the queue when it is done, with an object of Python's that comes back with it.
TraceHandle make_trace_record(bool with_tensors, Ref<TraceQueue> queue, nanobind::object context);

void register_trace_record(nanobind::module_& module);

}  // namespace triton_inprocess
