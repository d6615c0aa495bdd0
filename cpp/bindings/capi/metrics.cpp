#include "bindings/capi/metrics.h"

#include <nanobind/stl/string.h>

#include "bindings/gil.h"
#include "core/metrics.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_metrics(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<Metrics>(module, "TRITONSERVER_Metrics",
                        "What a server measures (TRITONSERVER_Metrics); TRITONSERVER_Server.metrics makes them.")
        .def(
            "formatted",
            [](const Metrics& self, TRITONSERVER_MetricFormat format) {
                const ReleaseGil released;
                return self.formatted(format);
            },
            "format"_a, "The values of this moment as text (TRITONSERVER_MetricsFormatted).");
}

}  // namespace triton_inprocess
