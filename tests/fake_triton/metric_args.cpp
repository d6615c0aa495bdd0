#include "metric_args.h"

#include <algorithm>

#include "error.h"
#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_MetricArgsNew(TRITONSERVER_MetricArgs** args) {
    *args = new TRITONSERVER_MetricArgs;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsSetHistogram(TRITONSERVER_MetricArgs* args, const double* buckets,
                                                        const uint64_t buckets_count) {
    TRITONSERVER_MetricArgs& target = live(args);
    std::vector<double> bounds(buckets, buckets + buckets_count);
    if (!std::is_sorted(bounds.begin(), bounds.end())) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "the buckets of a histogram must be in ascending order");
    }
    target.is_histogram = true;
    target.buckets = std::move(bounds);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsDelete(TRITONSERVER_MetricArgs* args) {
    delete &live(args);
    return nullptr;
}

}  // namespace fake_triton::implementation
