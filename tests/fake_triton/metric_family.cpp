#include "metric_family.h"

#include <array>

#include "breach.h"
#include "error.h"
#include "implementation.h"
#include "metric.h"

using namespace fake_triton;

namespace {

struct Families {
    static Families& instance() {
        static auto* const families = new Families;
        return *families;
    }

    std::mutex mutex;
    std::unordered_set<TRITONSERVER_MetricFamily*> all;
};

}  // namespace

TRITONSERVER_MetricFamily::TRITONSERVER_MetricFamily(TRITONSERVER_MetricKind family_kind, std::string family_name,
                                                     std::string text)
    : kind(family_kind), name(std::move(family_name)), description(std::move(text)) {
    const std::scoped_lock guard(Families::instance().mutex);
    Families::instance().all.insert(this);
}

TRITONSERVER_MetricFamily::~TRITONSERVER_MetricFamily() {
    const std::scoped_lock guard(Families::instance().mutex);
    Families::instance().all.erase(this);
}

std::string TRITONSERVER_MetricFamily::format_all() {
    std::string text;
    const std::scoped_lock guard(Families::instance().mutex);
    for (TRITONSERVER_MetricFamily* const family : Families::instance().all) {
        text += family->format();
    }
    return text;
}

void TRITONSERVER_MetricFamily::add(TRITONSERVER_Metric* metric) {
    const std::scoped_lock guard(mutex_);
    metrics_.insert(metric);
}

void TRITONSERVER_MetricFamily::remove(TRITONSERVER_Metric* metric) {
    const std::scoped_lock guard(mutex_);
    metrics_.erase(metric);
}

std::size_t TRITONSERVER_MetricFamily::size() {
    const std::scoped_lock guard(mutex_);
    return metrics_.size();
}

std::string TRITONSERVER_MetricFamily::format() {
    constexpr std::array<const char*, 3> kinds = {"counter", "gauge", "histogram"};
    std::string text = "# HELP " + name + " " + description + "\n# TYPE " + name + " " + kinds[kind] + "\n";
    const std::scoped_lock guard(mutex_);
    for (TRITONSERVER_Metric* const metric : metrics_) {
        text += metric->format();
    }
    return text;
}

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily** family, const TRITONSERVER_MetricKind kind,
                                                 const char* name, const char* description) {
    if (kind < TRITONSERVER_METRIC_KIND_COUNTER || kind > TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "unknown metric kind " + std::to_string(static_cast<int>(kind)));
    }
    *family = new TRITONSERVER_MetricFamily(kind, name, description);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) {
    const std::size_t size = live(family).size();
    if (size != 0) {
        breach(describe(family, "MetricFamily") + " is deleted before its " + std::to_string(size) + " metrics");
    }
    delete family;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_GetMetricFamilyKind(TRITONSERVER_MetricFamily* family, TRITONSERVER_MetricKind* kind) {
    *kind = live(family).kind;
    return nullptr;
}

}  // namespace fake_triton::implementation
