#include "core/metric_args.h"

#include <cmath>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

void MetricArgs::Delete::operator()(TRITONSERVER_MetricArgs* args) const noexcept {
    ignore(api().TRITONSERVER_MetricArgsDelete(args));
}

MetricArgs::MetricArgs() {
    TRITONSERVER_MetricArgs* args = nullptr;
    check(api().TRITONSERVER_MetricArgsNew(&args));
    args_.reset(args);
}

void MetricArgs::set_histogram(const std::vector<double>& buckets) {
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        if (std::isnan(buckets[i]) || (i > 0 && buckets[i] <= buckets[i - 1])) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG, "buckets must ascend, but number " + std::to_string(i) +
                                                            " is " + std::to_string(buckets[i]) +
                                                            (i > 0 ? " after " + std::to_string(buckets[i - 1]) : ""));
        }
    }
    check(api().TRITONSERVER_MetricArgsSetHistogram(args_.get(), buckets.data(), buckets.size()));
}

}  // namespace triton_inprocess
