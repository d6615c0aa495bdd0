#include "bindings/capi/metric.h"

#include <nanobind/stl/vector.h>

#include "core/metric.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

void make(Metric* self, const MetricFamily& family, const std::vector<const Parameter*>& labels,
          const MetricArgs* args) {
    for (const Parameter* const label : labels) {
        if (label == nullptr) {
            throw nb::type_error("labels must be a list of TRITONSERVER_Parameter, not with None in it");
        }
    }
    new (self) Metric(family, labels, args);
}

}  // namespace

void register_metric(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Metric>(module, "TRITONSERVER_Metric", "A metric of your own (TRITONSERVER_Metric).")
        .def("__init__", &make, "family"_a, "labels"_a, "args"_a.none() = nb::none(),
             "A metric of the family with the given STRING labels (TRITONSERVER_MetricNew, "
             "TRITONSERVER_MetricNewWithArgs). A histogram needs `args`.\n\n"
             "Raises InvalidArgumentError for a label that is no STRING and for a histogram without buckets, and "
             "UnsupportedError for `args` before C API 1.34.")
        .def_prop_ro("kind", &Metric::kind, "The kind of the metric (TRITONSERVER_GetMetricKind).")
        .def_prop_ro("value", &Metric::value,
                     "The value of a counter or gauge (TRITONSERVER_MetricValue). Raises UnsupportedError for a "
                     "histogram.")
        .def("increment", &Metric::increment, "value"_a,
             "Add to a counter (not less than 0) or gauge (TRITONSERVER_MetricIncrement).")
        .def("set", &Metric::set, "value"_a,
             "Set a gauge (TRITONSERVER_MetricSet). Raises UnsupportedError for another kind.")
        .def("set_value", &Metric::set, "value"_a, "The same as `set`, under its older name (TRITONSERVER_MetricSet).")
        .def("observe", &Metric::observe, "value"_a,
             "Count a value in its bucket of a histogram (TRITONSERVER_MetricObserve, from C API 1.34).");
}

}  // namespace triton_inprocess
