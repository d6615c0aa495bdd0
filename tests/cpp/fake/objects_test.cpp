// The fake's smaller objects do what the C API says.
#include <array>
#include <string>

#include "support/c_inference.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

using ObjectsTest = RuntimeTest;

std::string text_of(TRITONSERVER_Message* message) {
    const char* base = nullptr;
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_MessageSerializeToJson(message, &base, &byte_size));
    std::string text(base, byte_size);
    check(api().TRITONSERVER_MessageDelete(message));
    return text;
}

TEST_F(ObjectsTest, ResponseParametersOfEveryType) {
    const CServer server;
    CInference inference(server.get(), "parameters");
    inference.submit();
    ASSERT_TRUE(inference.wait());
    TRITONSERVER_InferenceResponse* const response = inference.responses()[0];
    std::uint32_t count = 0;
    check(api().TRITONSERVER_InferenceResponseParameterCount(response, &count));
    ASSERT_EQ(count, 5U);
    std::array<const void*, 5> values = {};
    for (std::uint32_t index = 0; index < count; ++index) {
        const char* name = nullptr;
        TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_STRING;
        check(api().TRITONSERVER_InferenceResponseParameter(response, index, &name, &type, &values[index]));
        EXPECT_EQ(static_cast<std::uint32_t>(type), index);
    }
    EXPECT_STREQ(static_cast<const char*>(values[0]), "text");
    EXPECT_EQ(*static_cast<const std::int64_t*>(values[1]), std::int64_t{1} << 40);
    EXPECT_TRUE(*static_cast<const bool*>(values[2]));
    EXPECT_EQ(*static_cast<const double*>(values[3]), 0.5);
}

TEST_F(ObjectsTest, Labels) {
    const CServer server;
    CInference inference(server.get(), "labels");
    inference.submit();
    ASSERT_TRUE(inference.wait());
    const char* label = nullptr;
    check(api().TRITONSERVER_InferenceResponseOutputClassificationLabel(inference.responses()[0], 0, 1, &label));
    EXPECT_STREQ(label, "second");
}

TEST_F(ObjectsTest, Metrics) {
    const CServer server;
    TRITONSERVER_MetricFamily* family = nullptr;
    TRITONSERVER_Metric* metric = nullptr;
    check(api().TRITONSERVER_MetricFamilyNew(&family, TRITONSERVER_METRIC_KIND_COUNTER, "name", "description"));
    TRITONSERVER_Parameter* const label = api().TRITONSERVER_ParameterNew("a", TRITONSERVER_PARAMETER_STRING, "b");
    const TRITONSERVER_Parameter* labels = label;
    check(api().TRITONSERVER_MetricNew(&metric, family, &labels, 1));
    api().TRITONSERVER_ParameterDelete(label);
    check(api().TRITONSERVER_MetricIncrement(metric, 2));
    EXPECT_EQ(error_of([&] { check(api().TRITONSERVER_MetricIncrement(metric, -1)); }).code(),
              TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([&] { check(api().TRITONSERVER_MetricSet(metric, 1)); }).code(), TRITONSERVER_ERROR_UNSUPPORTED);

    TRITONSERVER_Metrics* metrics = nullptr;
    const char* base = nullptr;
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_ServerMetrics(server.get(), &metrics));
    check(api().TRITONSERVER_MetricsFormatted(metrics, TRITONSERVER_METRIC_PROMETHEUS, &base, &byte_size));
    EXPECT_EQ(std::string(base, byte_size), "# HELP name description\n# TYPE name counter\nname{a=\"b\"} 2\n");
    check(api().TRITONSERVER_MetricsDelete(metrics));
    check(api().TRITONSERVER_MetricDelete(metric));
    check(api().TRITONSERVER_MetricFamilyDelete(family));
}

TEST_F(ObjectsTest, ModelControl) {
    const CServer server;
    const auto is_ready = [&](const char* model) {
        bool ready = false;
        check(api().TRITONSERVER_ServerModelIsReady(server.get(), model, -1, &ready));
        return ready;
    };
    EXPECT_TRUE(is_ready("identity"));
    check(api().TRITONSERVER_ServerUnloadModel(server.get(), "identity"));
    EXPECT_FALSE(is_ready("identity"));
    TRITONSERVER_Message* index = nullptr;
    check(api().TRITONSERVER_ServerModelIndex(server.get(), 0, &index));
    EXPECT_NE(text_of(index).find(R"("name":"identity","version":"1","state":"UNAVAILABLE")"), std::string::npos);
    check(api().TRITONSERVER_ServerLoadModel(server.get(), "identity"));
    EXPECT_TRUE(is_ready("identity"));

    EXPECT_EQ(error_of([&] { check(api().TRITONSERVER_ServerLoadModel(server.get(), "new")); }).code(),
              TRITONSERVER_ERROR_NOT_FOUND);
    TRITONSERVER_Parameter* const config =
        api().TRITONSERVER_ParameterNew("config", TRITONSERVER_PARAMETER_STRING, "{}");
    const TRITONSERVER_Parameter* parameters = config;
    check(api().TRITONSERVER_ServerLoadModelWithParameters(server.get(), "new", &parameters, 1));
    api().TRITONSERVER_ParameterDelete(config);
    EXPECT_TRUE(is_ready("new"));

    TRITONSERVER_InferenceRequest* request = nullptr;
    EXPECT_EQ(
        error_of([&] { check(api().TRITONSERVER_InferenceRequestNew(&request, server.get(), "unknown", -1)); }).code(),
        TRITONSERVER_ERROR_NOT_FOUND);
}

TEST_F(ObjectsTest, TheBackendApiIsUnsupported) {
    const Error error = error_of([] { check(api().TRITONBACKEND_RequestRelease(nullptr, 0)); });
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_NE(error.message().find("TRITONBACKEND_RequestRelease"), std::string::npos);
}

}  // namespace
}  // namespace triton_inprocess::testing
