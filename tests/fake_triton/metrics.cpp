#include "metrics.h"

#include "error.h"
#include "implementation.h"

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_MetricsDelete(TRITONSERVER_Metrics* metrics) {
    delete &live(metrics);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricsFormatted(TRITONSERVER_Metrics* metrics, TRITONSERVER_MetricFormat format,
                                                  const char** base, size_t* byte_size) {
    const TRITONSERVER_Metrics& target = live(metrics);
    if (format != TRITONSERVER_METRIC_PROMETHEUS) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "unknown metric format");
    }
    *base = target.text.data();
    *byte_size = target.text.size();
    return nullptr;
}

}  // namespace fake_triton::implementation
