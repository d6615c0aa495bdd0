// One metric of a family.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_Metric : fake_triton::Live<TRITONSERVER_Metric> {
    static constexpr const char* type_name = "Metric";

    /// `labels` are in Prometheus's format: `a="x",b="y"`.
    TRITONSERVER_Metric(TRITONSERVER_MetricFamily& metric_family, std::string metric_labels,
                        std::vector<double> bounds);
    ~TRITONSERVER_Metric();

    TRITONSERVER_Error* read(double& value);
    TRITONSERVER_Error* increment(double value);
    TRITONSERVER_Error* set(double value);
    TRITONSERVER_Error* observe(double value);
    std::string format();

    TRITONSERVER_MetricFamily& family;
    const std::string labels;

  private:
    TRITONSERVER_Error* refuse(const char* verb) const;
    std::string line(const std::string& suffix, const std::string& more_labels, double value) const;

    const std::vector<double> bounds_;
    std::mutex mutex_;
    double value_ = 0;  ///< A histogram's sum.
    std::uint64_t observations_ = 0;
    std::vector<std::uint64_t> counts_;  ///< For each bound, the observations that are not above it.
};
