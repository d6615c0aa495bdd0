#include "core/metric.h"

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

void Metric::Delete::operator()(TRITONSERVER_Metric* metric) const noexcept {
    TRITONSERVER_Error* const error = api().TRITONSERVER_MetricDelete(metric);
    if (error != nullptr) {
        // The metric lives on, and its family must not go before it: both stay for good.
        [[maybe_unused]] const auto* const kept = std::make_unique<Family>(family).release();
        ignore(error);
    }
}

Metric::Metric(const MetricFamily& family, const std::vector<const Parameter*>& labels, const MetricArgs* args)
    : metric_(nullptr, Delete{family.shared()}) {
    std::vector<const TRITONSERVER_Parameter*> c_labels;
    c_labels.reserve(labels.size());
    for (const Parameter* const label : labels) {
        c_labels.push_back(label->get());
    }
    TRITONSERVER_Metric* metric = nullptr;
    check(args == nullptr
              ? api().TRITONSERVER_MetricNew(&metric, family.shared().get(), c_labels.data(), c_labels.size())
              : api().TRITONSERVER_MetricNewWithArgs(&metric, family.shared().get(), c_labels.data(), c_labels.size(),
                                                     args->get()));
    metric_.reset(metric);
}

TRITONSERVER_MetricKind Metric::kind() const {
    TRITONSERVER_MetricKind kind = TRITONSERVER_METRIC_KIND_COUNTER;
    check(api().TRITONSERVER_GetMetricKind(metric_.get(), &kind));
    return kind;
}

double Metric::value() const {
    double value = 0;
    check(api().TRITONSERVER_MetricValue(metric_.get(), &value));
    return value;
}

void Metric::increment(double value) {
    check(api().TRITONSERVER_MetricIncrement(metric_.get(), value));
}

void Metric::set(double value) {
    check(api().TRITONSERVER_MetricSet(metric_.get(), value));
}

void Metric::observe(double value) {
    check(api().TRITONSERVER_MetricObserve(metric_.get(), value));
}

}  // namespace triton_inprocess
