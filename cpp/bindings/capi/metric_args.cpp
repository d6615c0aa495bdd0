#include "bindings/capi/metric_args.h"

#include <nanobind/stl/vector.h>

#include "bindings/runtime.h"
#include "core/metric_args.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_metric_args(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<MetricArgs>(module, "TRITONSERVER_MetricArgs",
                           "What a histogram needs besides its labels (TRITONSERVER_MetricArgs, from C API 1.34).")
        .def(
            "__init__",
            [](MetricArgs* self) {
                ensure_runtime();
                new (self) MetricArgs();
            },
            "Empty arguments (TRITONSERVER_MetricArgsNew). Raises UnsupportedError before C API 1.34.")
        .def("set_histogram", &MetricArgs::set_histogram, "buckets"_a,
             "The upper bounds of a histogram's buckets, ascending; one without a bound is added to them "
             "(TRITONSERVER_MetricArgsSetHistogram).\n\nRaises InvalidArgumentError when they do not ascend.");
}

}  // namespace triton_inprocess
