// What a metric needs besides its labels: the buckets of a histogram.
#pragma once

#include <memory>
#include <vector>

#include "abi/types.h"

namespace triton_inprocess {

class MetricArgs {
  public:
    /// Throws UNSUPPORTED before C API 1.34.
    MetricArgs();

    /// The upper bounds of the buckets, ascending; the one without a bound is added by itself.
    void set_histogram(const std::vector<double>& buckets);

    const TRITONSERVER_MetricArgs* get() const noexcept { return args_.get(); }

  private:
    struct Delete {
        void operator()(TRITONSERVER_MetricArgs* args) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_MetricArgs, Delete> args_;
};

}  // namespace triton_inprocess
