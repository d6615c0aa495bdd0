// What a metric is made with beside its labels: the buckets of a histogram.
#pragma once

#include <vector>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_MetricArgs : fake_triton::Live<TRITONSERVER_MetricArgs> {
    static constexpr const char* type_name = "MetricArgs";

    bool is_histogram = false;
    std::vector<double> buckets;
};
