// Metrics of one name.
#pragma once

#include <mutex>
#include <string>
#include <unordered_set>

#include "abi/types.h"
#include "live.h"

struct TRITONSERVER_MetricFamily : fake_triton::Live<TRITONSERVER_MetricFamily> {
    static constexpr const char* type_name = "MetricFamily";

    TRITONSERVER_MetricFamily(TRITONSERVER_MetricKind family_kind, std::string family_name, std::string text);
    ~TRITONSERVER_MetricFamily();

    /// Every family's metrics in Prometheus's format.
    static std::string format_all();

    void add(TRITONSERVER_Metric* metric);
    void remove(TRITONSERVER_Metric* metric);
    std::size_t size();

    const TRITONSERVER_MetricKind kind;
    const std::string name;
    const std::string description;

  private:
    std::string format();

    std::mutex mutex_;
    std::unordered_set<TRITONSERVER_Metric*> metrics_;
};
