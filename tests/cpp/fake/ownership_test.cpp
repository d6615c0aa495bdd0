// The fake ends a process that breaks a rule of ownership, and says which one.
#include <csignal>
#include <thread>

#include "support/c_inference.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

class OwnershipDeathTest : public RuntimeTest {
  protected:
    void SetUp() override {
        // Each in a fresh process: a forked one would have the fake's servers without their threads.
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        RuntimeTest::SetUp();
    }
};

#define EXPECT_BREACH(statement, what) \
    EXPECT_EXIT(statement, ::testing::KilledBySignal(SIGABRT), "ownership breach.*" what)

TEST_F(OwnershipDeathTest, DoubleDelete) {
    EXPECT_BREACH(
        {
            TRITONSERVER_Message* message = nullptr;
            check(api().TRITONSERVER_MessageNewFromSerializedJson(&message, "{}", 2));
            ignore(api().TRITONSERVER_MessageDelete(message));
            ignore(api().TRITONSERVER_MessageDelete(message));
        },
        "MessageDelete: Message .* is deleted already");
}

TEST_F(OwnershipDeathTest, UseAfterDelete) {
    EXPECT_BREACH(
        {
            TRITONSERVER_Error* error = api().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "x");
            api().TRITONSERVER_ErrorDelete(error);
            api().TRITONSERVER_ErrorMessage(error);
        },
        "ErrorMessage: Error .* is deleted already");
}

TEST_F(OwnershipDeathTest, WrongTypeAndNull) {
    EXPECT_BREACH(
        {
            TRITONSERVER_Error* error = api().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "x");
            ignore(api().TRITONSERVER_MessageDelete(reinterpret_cast<TRITONSERVER_Message*>(error)));
        },
        "Error .* was given for a Message");
    EXPECT_BREACH(ignore(api().TRITONSERVER_ServerStop(nullptr)), "NULL was given for a Server");
}

TEST_F(OwnershipDeathTest, RequestChangedInFlight) {
    EXPECT_BREACH(
        {
            const CServer server;
            CInference inference(server.get(), "identity");
            fake().delay(10'000);
            inference.submit();
            ignore(api().TRITONSERVER_InferenceRequestSetId(inference.request, "x"));
        },
        "InferenceRequestSetId: InferenceRequest .* is used while it is in flight");
}

TEST_F(OwnershipDeathTest, RequestDeletedInFlight) {
    EXPECT_BREACH(
        {
            const CServer server;
            CInference inference(server.get(), "identity");
            fake().delay(10'000);
            inference.submit();
            ignore(api().TRITONSERVER_InferenceRequestDelete(inference.request));
        },
        "InferenceRequestDelete: InferenceRequest .* is used while it is in flight");
}

TEST_F(OwnershipDeathTest, RequestSubmittedTwice) {
    EXPECT_BREACH(
        {
            const CServer server;
            CInference inference(server.get(), "identity");
            fake().delay(10'000);
            inference.submit();
            inference.submit();
        },
        "ServerInferAsync: InferenceRequest .* is used while it is in flight");
}

TEST_F(OwnershipDeathTest, TraceDeletedInFlight) {
    EXPECT_BREACH(
        {
            const CServer server;
            CInference inference(server.get(), "identity");
            TRITONSERVER_InferenceTrace* trace = nullptr;
            check(api().TRITONSERVER_InferenceTraceNew(
                &trace, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0, nullptr, [](TRITONSERVER_InferenceTrace*, void*) {},
                nullptr));
            fake().delay(10'000);
            inference.submit(trace);
            ignore(api().TRITONSERVER_InferenceTraceDelete(trace));
        },
        "InferenceTrace .* is deleted while its request is in flight");
}

TEST_F(OwnershipDeathTest, AllocatorDeletedInUse) {
    EXPECT_BREACH(
        {
            const CServer server;
            CInference inference(server.get(), "identity");
            inference.submit();
            inference.wait();
            ignore(api().TRITONSERVER_ResponseAllocatorDelete(inference.allocator));
        },
        "ResponseAllocator .* is still used by 1 requests and responses");
}

TEST_F(OwnershipDeathTest, ServerDeletedBeforeItsRequests) {
    EXPECT_BREACH(
        {
            CServer server(0);
            const CInference inference(server.get(), "identity");
            ignore(api().TRITONSERVER_ServerDelete(server.detach()));
        },
        "Server .* is deleted before 1 of its requests and responses");
}

TEST_F(OwnershipDeathTest, ServerDeletedDuringACall) {
    EXPECT_BREACH(
        {
            CServer server;
            CInference inference(server.get(), "identity");
            fake().linger(10'000);
            std::thread submitter([&] { inference.submit(); });
            eventually([&] { return !inference.events().empty() && inference.events().back() == "release"; });
            inference.delete_responses();
            ignore(api().TRITONSERVER_InferenceRequestDelete(inference.request));
            ignore(api().TRITONSERVER_ServerDelete(server.detach()));
            submitter.join();
        },
        "Server .* is deleted during a call of TRITONSERVER_ServerInferAsync");
}

TEST_F(OwnershipDeathTest, ServerDeletedWhileAnotherRuns) {
    EXPECT_BREACH(
        {
            CServer server;
            const CServer other;
            ignore(api().TRITONSERVER_ServerDelete(server.detach()));
        },
        "Server .* is deleted while another server runs");
}

TEST_F(OwnershipDeathTest, MetricFamilyDeletedBeforeItsMetrics) {
    EXPECT_BREACH(
        {
            TRITONSERVER_MetricFamily* family = nullptr;
            TRITONSERVER_Metric* metric = nullptr;
            check(api().TRITONSERVER_MetricFamilyNew(&family, TRITONSERVER_METRIC_KIND_GAUGE, "a", "b"));
            check(api().TRITONSERVER_MetricNew(&metric, family, nullptr, 0));
            ignore(api().TRITONSERVER_MetricFamilyDelete(family));
        },
        "MetricFamily .* is deleted before its 1 metrics");
}

TEST_F(OwnershipDeathTest, UninitialisedOptions) {
    EXPECT_EXIT(
        {
            TRITONSERVER_ServerOptions* options = nullptr;
            TRITONSERVER_Server* server = nullptr;
            check(api().TRITONSERVER_ServerOptionsNew(&options));
            ignore(api().TRITONSERVER_ServerNew(&server, options));
        },
        ::testing::KilledBySignal(SIGABRT), "uninitialised server option: model load retry count");
}

}  // namespace
}  // namespace triton_inprocess::testing
