#include "core/metric_family.h"

#include "core/c_text.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

MetricFamily::MetricFamily(TRITONSERVER_MetricKind kind, const std::string& name, const std::string& description) {
    TRITONSERVER_MetricFamily* family = nullptr;
    check(api().TRITONSERVER_MetricFamilyNew(&family, kind, c_text(name, "name"), c_text(description, "description")));
    family_.reset(family, [](TRITONSERVER_MetricFamily* last) { ignore(api().TRITONSERVER_MetricFamilyDelete(last)); });
}

TRITONSERVER_MetricKind MetricFamily::kind() const {
    TRITONSERVER_MetricKind kind = TRITONSERVER_METRIC_KIND_COUNTER;
    check(api().TRITONSERVER_GetMetricFamilyKind(family_.get(), &kind));
    return kind;
}

}  // namespace triton_inprocess
