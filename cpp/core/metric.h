// One of the user's own metrics: a member of a family, with labels of its own.
#pragma once

#include <memory>
#include <vector>

#include "abi/types.h"
#include "core/metric_args.h"
#include "core/metric_family.h"
#include "core/parameter.h"

namespace triton_inprocess {

class Metric {
  public:
    /// `args` may be null; a histogram needs them (and C API 1.34).
    Metric(const MetricFamily& family, const std::vector<const Parameter*>& labels, const MetricArgs* args);

    TRITONSERVER_MetricKind kind() const;
    double value() const;
    void increment(double value);
    void set(double value);
    void observe(double value);

  private:
    using Family = std::shared_ptr<TRITONSERVER_MetricFamily>;

    struct Delete {
        Family family;  ///< Goes after the metric.
        void operator()(TRITONSERVER_Metric* metric) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_Metric, Delete> metric_;
};

}  // namespace triton_inprocess
