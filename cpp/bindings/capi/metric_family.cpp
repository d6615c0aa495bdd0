#include "bindings/capi/metric_family.h"

#include <nanobind/stl/string.h>

#include "bindings/runtime.h"
#include "core/metric_family.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_metric_family(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<MetricFamily>(
        module, "TRITONSERVER_MetricFamily",
        "Your own metrics of one name (TRITONSERVER_MetricFamily). It may be dropped before its metrics: they keep it.")
        .def(
            "__init__",
            [](MetricFamily* self, TRITONSERVER_MetricKind kind, const std::string& name,
               const std::string& description) {
                ensure_runtime();
                new (self) MetricFamily(kind, name, description);
            },
            "kind"_a, "name"_a, "description"_a,
            "A family of the given kind (TRITONSERVER_MetricFamilyNew).\n\n"
            "Families of one name, kind and description are one. Raises InvalidArgumentError for a name that "
            "Prometheus "
            "does not allow, that begins with nv_, which is for Triton's own, or that has another kind or description "
            "already.")
        .def_prop_ro("kind", &MetricFamily::kind,
                     "The kind of its metrics (TRITONSERVER_GetMetricFamilyKind, from C API 1.34).");
}

}  // namespace triton_inprocess
