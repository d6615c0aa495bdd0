#include "metric.h"

#include <sstream>

#include "error.h"
#include "implementation.h"
#include "metric_args.h"
#include "metric_family.h"
#include "parameter.h"

using namespace fake_triton;

namespace {

std::string number(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

}  // namespace

TRITONSERVER_Metric::TRITONSERVER_Metric(TRITONSERVER_MetricFamily& metric_family, std::string metric_labels,
                                         std::vector<double> bounds)
    : family(metric_family), labels(std::move(metric_labels)), bounds_(std::move(bounds)), counts_(bounds_.size()) {
    family.add(this);
}

TRITONSERVER_Metric::~TRITONSERVER_Metric() {
    family.remove(this);
}

TRITONSERVER_Error* TRITONSERVER_Metric::read(double& value) {
    if (family.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        return refuse("read");
    }
    const std::scoped_lock guard(mutex_);
    value = value_;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Metric::increment(double value) {
    if (family.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        return refuse("incremented");
    }
    if (family.kind == TRITONSERVER_METRIC_KIND_COUNTER && value < 0) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "a counter cannot be incremented by a negative value");
    }
    const std::scoped_lock guard(mutex_);
    value_ += value;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Metric::set(double value) {
    if (family.kind != TRITONSERVER_METRIC_KIND_GAUGE) {
        return refuse("set");
    }
    const std::scoped_lock guard(mutex_);
    value_ = value;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_Metric::observe(double value) {
    if (family.kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        return refuse("observed");
    }
    const std::scoped_lock guard(mutex_);
    value_ += value;
    ++observations_;
    for (std::size_t index = 0; index < bounds_.size(); ++index) {
        counts_[index] += value <= bounds_[index] ? 1 : 0;
    }
    return nullptr;
}

std::string TRITONSERVER_Metric::format() {
    const std::scoped_lock guard(mutex_);
    if (family.kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        return line("", "", value_);
    }
    std::string text = line("_count", "", static_cast<double>(observations_)) + line("_sum", "", value_);
    for (std::size_t index = 0; index < bounds_.size(); ++index) {
        text += line("_bucket", "le=\"" + number(bounds_[index]) + "\"", static_cast<double>(counts_[index]));
    }
    return text + line("_bucket", "le=\"+Inf\"", static_cast<double>(observations_));
}

TRITONSERVER_Error* TRITONSERVER_Metric::refuse(const char* verb) const {
    return failure(TRITONSERVER_ERROR_UNSUPPORTED, "metric '" + family.name + "' is of a kind that cannot be " + verb);
}

std::string TRITONSERVER_Metric::line(const std::string& suffix, const std::string& more_labels, double value) const {
    std::string all = labels;
    if (!more_labels.empty()) {
        all += (all.empty() ? "" : ",") + more_labels;
    }
    return family.name + suffix + (all.empty() ? "" : "{" + all + "}") + " " + number(value) + "\n";
}

namespace fake_triton::implementation {

TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family,
                                           const TRITONSERVER_Parameter** labels, const uint64_t label_count) {
    return TRITONSERVER_MetricNewWithArgs(metric, family, labels, label_count, nullptr);
}

TRITONSERVER_Error* TRITONSERVER_MetricNewWithArgs(TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family,
                                                   const TRITONSERVER_Parameter** labels, const uint64_t label_count,
                                                   const TRITONSERVER_MetricArgs* args) {
    TRITONSERVER_MetricFamily& target = live(family);
    std::string text;
    for (uint64_t index = 0; index < label_count; ++index) {
        const TRITONSERVER_Parameter& label = live(labels[index]);
        if (label.value.type() != TRITONSERVER_PARAMETER_STRING) {
            return failure(TRITONSERVER_ERROR_INVALID_ARG, "metric label '" + label.name + "' is not a string");
        }
        text += (text.empty() ? "" : ",") + label.name + "=\"" + label.value.get(std::string()) + "\"";
    }
    std::vector<double> bounds;
    if (args != nullptr && live(args).is_histogram) {
        if (target.kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) {
            return failure(TRITONSERVER_ERROR_INVALID_ARG, "metric '" + target.name + "' is no histogram");
        }
        bounds = args->buckets;
    } else if (target.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "a histogram needs buckets");
    }
    *metric = new TRITONSERVER_Metric(target, text, bounds);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) {
    delete &live(metric);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricValue(TRITONSERVER_Metric* metric, double* value) {
    return live(metric).read(*value);
}

TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric, double value) {
    return live(metric).increment(value);
}

TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) {
    return live(metric).set(value);
}

TRITONSERVER_Error* TRITONSERVER_MetricObserve(TRITONSERVER_Metric* metric, double value) {
    return live(metric).observe(value);
}

TRITONSERVER_Error* TRITONSERVER_GetMetricKind(TRITONSERVER_Metric* metric, TRITONSERVER_MetricKind* kind) {
    *kind = live(metric).family.kind;
    return nullptr;
}

}  // namespace fake_triton::implementation
