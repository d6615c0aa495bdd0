#include "core/metrics.h"

#include <cstddef>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

void Metrics::Delete::operator()(TRITONSERVER_Metrics* metrics) const noexcept {
    ignore(api().TRITONSERVER_MetricsDelete(metrics));
}

std::string Metrics::formatted(TRITONSERVER_MetricFormat format) const {
    const char* base = nullptr;
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_MetricsFormatted(metrics_.get(), format, &base, &byte_size));
    return std::string(base, byte_size);
}

}  // namespace triton_inprocess
