// The small objects of the C API: parameters, messages, metrics, buffer attributes.
#include <cstring>
#include <limits>
#include <thread>

#include "core/buffer_attributes.h"
#include "core/json_depth.h"
#include "core/message.h"
#include "core/metric.h"
#include "core/parameter.h"
#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

class ValuesTest : public CoreTest {};

TEST_F(ValuesTest, ParametersAreOfEveryType) {
    EXPECT_EQ(Parameter("a", std::string("b")).type(), TRITONSERVER_PARAMETER_STRING);
    EXPECT_EQ(Parameter("a", std::numeric_limits<std::int64_t>::min()).type(), TRITONSERVER_PARAMETER_INT);
    EXPECT_EQ(Parameter("a", true).type(), TRITONSERVER_PARAMETER_BOOL);
    EXPECT_EQ(Parameter("a", 2.5).type(), TRITONSERVER_PARAMETER_DOUBLE);
    EXPECT_EQ(Parameter("a", Ref<Buffer>(make_ref<Floats>(std::vector<float>{1, 2}))).type(),
              TRITONSERVER_PARAMETER_BYTES);
    EXPECT_EQ(Floats::alive(), 0);
    EXPECT_EQ(error_of([] { Parameter(std::string("a\0b", 3), true); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([] { Parameter("a", std::string("a\0b", 3)); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

TEST_F(ValuesTest, MessagesKeepTheirText) {
    EXPECT_EQ(Message(R"({"a":[1,2]})").to_json(), R"({"a":[1,2]})");
}

TEST_F(ValuesTest, JsonIsNotDeep) {
    check_json_depth(std::string(1000, '[') + "\"[[[[\\\"[\"" + std::string(1000, ']'));
    EXPECT_EQ(error_of([] { check_json_depth(std::string(1001, '{')); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

TEST_F(ValuesTest, AttributesAreCopied) {
    BufferAttributes attributes;
    EXPECT_EQ(attributes.byte_size(), 0U);
    char handle[64] = "handle";
    attributes.set_memory_type(TRITONSERVER_MEMORY_GPU);
    attributes.set_memory_type_id(3);
    attributes.set_byte_size(5);
    attributes.set_cuda_ipc_handle(handle);
    const BufferAttributes copy(attributes.get());
    EXPECT_EQ(copy.memory_type(), TRITONSERVER_MEMORY_GPU);
    EXPECT_EQ(copy.memory_type_id(), 3);
    EXPECT_EQ(copy.byte_size(), 5U);
    EXPECT_EQ(std::memcmp(copy.cuda_ipc_handle(), handle, sizeof handle), 0);
    EXPECT_EQ(error_of([&] { attributes.set_cuda_ipc_handle(nullptr); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

TEST_F(ValuesTest, AFamilyMayGoBeforeItsMetrics) {
    auto family = std::make_unique<MetricFamily>(TRITONSERVER_METRIC_KIND_GAUGE, "gauge", "what it is");
    const auto same = std::make_unique<MetricFamily>(TRITONSERVER_METRIC_KIND_GAUGE, "gauge", "what it is");
    const Parameter label("where", std::string("here"));
    Metric metric(*family, {&label}, nullptr);
    family.reset();
    metric.set(2);
    metric.increment(1);
    EXPECT_EQ(metric.value(), 3);
    EXPECT_EQ(error_of([] { MetricFamily(TRITONSERVER_METRIC_KIND_COUNTER, "gauge", "what it is"); }).code(),
              TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([] { MetricFamily(TRITONSERVER_METRIC_KIND_COUNTER, "nv_x", "Triton's"); }).code(),
              TRITONSERVER_ERROR_INVALID_ARG);
}

TEST_F(ValuesTest, FamiliesOfOneNameAreMadeAndDroppedByManyThreads) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([] {
            for (int j = 0; j < 200; ++j) {
                const MetricFamily family(TRITONSERVER_METRIC_KIND_COUNTER, "shared", "one for all");
                Metric(family, {}, nullptr).increment(1);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_F(ValuesTest, HistogramsNeedAscendingBuckets) {
    const MetricFamily family(TRITONSERVER_METRIC_KIND_HISTOGRAM, "histogram", "of something");
    MetricArgs args;
    EXPECT_EQ(error_of([&] { args.set_histogram({1, 1}); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    args.set_histogram({1, 2});
    Metric metric(family, {}, &args);
    metric.observe(1.5);
    EXPECT_EQ(metric.kind(), TRITONSERVER_METRIC_KIND_HISTOGRAM);
}

}  // namespace
}  // namespace triton_inprocess::testing
