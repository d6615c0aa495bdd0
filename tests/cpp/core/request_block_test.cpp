// The life of a request: sent, answered, released, sent again; and everything that can come in between.
#include "core/request_block.h"

#include <cstdlib>
#include <thread>

#include "core/requests.h"
#include "core/server_registry.h"

namespace triton_inprocess::testing {
namespace {

using Use = RequestBlock::Use;
using Values = std::vector<float>;

class RequestBlockTest : public RunningServerTest {};

bool completes(const InferenceRequest& request) {
    return eventually([&] { return !request.in_flight(); });
}

TEST_F(RequestBlockTest, IsAnsweredAndReleased) {
    for (const std::int32_t order : {FAKE_TRITON_RESPONSE_FIRST, FAKE_TRITON_RELEASE_FIRST, FAKE_TRITON_TOGETHER}) {
        fake().order(order);
        const auto request = make_request(*server);
        request->set_id("a name");
        const auto response = receive(submit(*request));
        ASSERT_TRUE(response);
        EXPECT_TRUE(response->final);
        EXPECT_FALSE(response->error);
        EXPECT_EQ(response->model_name, "identity");
        EXPECT_EQ(response->model_version, 1);
        EXPECT_EQ(response->request_id, "a name");
        ASSERT_EQ(response->outputs.size(), 1U);
        EXPECT_EQ(response->outputs[0].name, "OUTPUT0");
        EXPECT_EQ(values_of(response->outputs[0].tensor), (Values{1, 2, 3}));
        EXPECT_TRUE(completes(*request));
        EXPECT_EQ(fake().live("InferenceResponse"), 0U);
    }
}

TEST_F(RequestBlockTest, AReusableOneIsSentAgain) {
    for (const std::int32_t order : {FAKE_TRITON_RESPONSE_FIRST, FAKE_TRITON_RELEASE_FIRST, FAKE_TRITON_TOGETHER}) {
        fake().order(order);
        const auto request = make_request(*server);
        for (float number = 0; number < 50; ++number) {
            request->block()->wait_for_release();
            request->remove_input("INPUT0");
            request->add_input("INPUT0", floats({number}));
            const auto response = receive(submit(*request));
            ASSERT_TRUE(response);
            EXPECT_EQ(values_of(response->outputs.at(0).tensor), Values{number});
        }
    }
}

TEST_F(RequestBlockTest, OneThatIsSentOnceLetsGoOfTriton) {
    const auto request = make_request(*server, "identity", Use::once);
    ASSERT_TRUE(receive(submit(*request)));
    EXPECT_TRUE(eventually([] { return fake().live("InferenceRequest") == 0 && Floats::alive() == 0; }));
    EXPECT_EQ(error_of([&] { submit(*request); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

TEST_F(RequestBlockTest, CannotBeChangedInFlight) {
    fake().delay(60'000);
    const auto request = make_request(*server);
    const auto queue = submit(*request);
    EXPECT_TRUE(request->in_flight());
    EXPECT_EQ(error_of([&] { request->set_id("x"); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error_of([&] { submit(*request); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    request->cancel();
    const auto response = receive(queue);
    ASSERT_TRUE(response && response->error);
    EXPECT_EQ(response->error->code(), TRITONSERVER_ERROR_CANCELLED);
    EXPECT_TRUE(completes(*request));
    request->set_id("x");
}

TEST_F(RequestBlockTest, IsFoundByItsCRequestInFlight) {
    fake().delay(60'000);
    const auto request = make_request(*server);
    const TRITONSERVER_InferenceRequest* const c_request = request->block()->idle().get();
    EXPECT_FALSE(RequestBlock::find(c_request));
    const auto queue = submit(*request);
    const Ref<RequestBlock> found = RequestBlock::find(c_request);
    EXPECT_EQ(found.get(), request->block().get());
    request->cancel();
    ASSERT_TRUE(receive(queue));
    EXPECT_TRUE(completes(*request));
    EXPECT_FALSE(RequestBlock::find(c_request));
}

TEST_F(RequestBlockTest, AFailedSubmissionLeavesItUsable) {
    const auto request = make_request(*server);
    for (const char* function : {"TRITONSERVER_InferenceRequestSetReleaseCallback",
                                 "TRITONSERVER_InferenceRequestSetResponseCallback", "TRITONSERVER_ServerInferAsync"}) {
        ASSERT_TRUE(fake().fail(function, 1, 1, TRITONSERVER_ERROR_UNAVAILABLE, "as told"));
        EXPECT_EQ(error_of([&] { submit(*request); }).message(), "as told");
        EXPECT_FALSE(request->in_flight());
        EXPECT_FALSE(RequestBlock::find(request->block()->idle().get()));
        const auto response = receive(submit(*request));
        ASSERT_TRUE(response);
        EXPECT_FALSE(response->error);
        EXPECT_TRUE(completes(*request));
    }
    fake().fail_enqueueing(1);
    EXPECT_EQ(error_of([&] { submit(*request); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_TRUE(receive(submit(*request)));
}

TEST_F(RequestBlockTest, AFailedSubmissionOfOneSentOnceKeepsNothing) {
    {
        const auto request = make_request(*server, "identity", Use::once);
        request->remove_input("INPUT0");  // Triton refuses it early
        EXPECT_EQ(error_of([&] { submit(*request); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    }
    EXPECT_EQ(fake().live("InferenceRequest"), 0U);
}

TEST_F(RequestBlockTest, CancellingAnIdleOneDoesNothingToTheNextSubmission) {
    const auto request = make_request(*server);
    try {
        request->cancel();
    } catch (const Error&) {  // whether it is an error is another matter
    }
    const auto response = receive(submit(*request));
    ASSERT_TRUE(response);
    EXPECT_FALSE(response->error);
}

TEST_F(RequestBlockTest, DroppedInFlightItEndsByItself) {
    fake().delay(20);
    for (const Use use : {Use::once, Use::reusable}) {
        Ref<ResponseQueue> queue = submit(*make_request(*server, "identity", use));
        EXPECT_EQ(Floats::alive(), 1);
        ASSERT_TRUE(receive(queue));
        queue = nullptr;
        EXPECT_TRUE(eventually([] { return fake().live("InferenceRequest") == 0 && Floats::alive() == 0; }));
    }
}

TEST_F(RequestBlockTest, NobodyNeedsToReceiveTheResponses) {
    for (const std::int32_t order : {FAKE_TRITON_RESPONSE_FIRST, FAKE_TRITON_RELEASE_FIRST, FAKE_TRITON_TOGETHER}) {
        fake().order(order);
        submit(*make_request(*server, "decoupled", Use::once));
        EXPECT_TRUE(eventually([] { return fake().live("InferenceRequest") == 0; }));
    }
}

TEST_F(RequestBlockTest, IsInFlightUntilBothCallbacksHaveCome) {
    for (const std::uint32_t dropped : {FAKE_TRITON_DROP_FINAL_RESPONSE, FAKE_TRITON_DROP_RELEASE}) {
        fake().reset();
        fake().drop(dropped);
        const auto request = make_request(*server);
        const auto queue = submit(*request);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        EXPECT_TRUE(request->in_flight());
        EXPECT_EQ(fake().deliver_dropped(), 1U);
        ASSERT_TRUE(receive(queue));
        EXPECT_FALSE(request->in_flight());
    }
}

TEST_F(RequestBlockTest, ARescheduleIsNoRelease) {
    fake().reschedule(true);
    fake().drop(FAKE_TRITON_DROP_RELEASE);
    const auto request = make_request(*server);
    ASSERT_TRUE(receive(submit(*request)));
    EXPECT_TRUE(request->in_flight());
    EXPECT_TRUE(eventually([] { return fake().deliver_dropped() == 1; }));
    EXPECT_FALSE(request->in_flight());
}

TEST_F(RequestBlockTest, TheNextSubmissionWaitsForALateRelease) {
    fake().drop(FAKE_TRITON_DROP_RELEASE);
    const auto request = make_request(*server);
    ASSERT_TRUE(receive(submit(*request)));
    fake().reset();
    std::thread late([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        eventually([] { return fake().deliver_dropped() == 1; });
    });
    EXPECT_TRUE(receive(submit(*request)));
    late.join();
}

TEST_F(RequestBlockTest, ADecoupledModelAnswersManyTimes) {
    fake().respond_on_own_threads(true);
    const auto request = make_request(*server, "decoupled");
    request->set_parameter("responses", std::int64_t{5});
    const auto queue = submit(*request);
    for (int index = 0; index < 5; ++index) {
        const auto response = receive(queue);
        ASSERT_TRUE(response);
        EXPECT_FALSE(response->final);
        EXPECT_EQ(values_of(response->outputs.at(0).tensor), (Values{1, 2, 3}));
    }
    const auto last = receive(queue);
    ASSERT_TRUE(last);
    EXPECT_TRUE(last->final);
    EXPECT_TRUE(last->outputs.empty());
}

TEST_F(RequestBlockTest, AnErrorIsAResponse) {
    const auto request = make_request(*server, "error");
    const auto response = receive(submit(*request));
    ASSERT_TRUE(response && response->error);
    EXPECT_EQ(response->error->code(), TRITONSERVER_ERROR_INTERNAL);
    EXPECT_TRUE(response->final);
}

TEST_F(RequestBlockTest, ResponseParameters) {
    const auto request = make_request(*server, "parameters");
    request->set_parameter("bytes", false);
    const auto response = receive(submit(*request));
    ASSERT_TRUE(response);
    ASSERT_FALSE(response->error);
    ASSERT_EQ(response->parameters.size(), 4U);
    EXPECT_EQ(std::get<std::string>(response->parameters[0].value), "text");
    EXPECT_EQ(std::get<std::int64_t>(response->parameters[1].value), std::int64_t{1} << 40);
    EXPECT_TRUE(std::get<bool>(response->parameters[2].value));
    EXPECT_EQ(std::get<double>(response->parameters[3].value), 0.5);
}

TEST_F(RequestBlockTest, ACacheAnswersInsideTheSubmission) {
    for (const std::int32_t order : {FAKE_TRITON_RESPONSE_FIRST, FAKE_TRITON_RELEASE_FIRST}) {
        fake().order(order);
        const auto request = make_request(*server, "cached");
        for (int repetition = 0; repetition < 3; ++repetition) {
            const auto queue = submit(*request);
            EXPECT_FALSE(request->in_flight());
            EXPECT_TRUE(queue->pop());
        }
    }
}

TEST_F(RequestBlockTest, OnlyTheRequestedOutputs) {
    const auto request = make_request(*server);
    request->add_input("INPUT1", floats({4}));
    request->add_requested_output("OUTPUT1");
    const auto response = receive(submit(*request));
    ASSERT_TRUE(response);
    ASSERT_EQ(response->outputs.size(), 1U);
    EXPECT_EQ(response->outputs[0].name, "OUTPUT1");
}

TEST_F(RequestBlockTest, AnInputThatCannotBeAddedIsNotKept) {
    const auto request = make_request(*server);
    ASSERT_TRUE(fake().fail("TRITONSERVER_InferenceRequestAppendInputData", 1, 1, TRITONSERVER_ERROR_INTERNAL, "no"));
    EXPECT_EQ(error_of([&] { request->add_input("INPUT1", floats({4})); }).message(), "no");
    EXPECT_EQ(Floats::alive(), 1);
    const auto response = receive(submit(*request));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->outputs.size(), 1U);
}

TEST_F(RequestBlockTest, AnEmptyInput) {
    const auto request = make_request(*server, "identity", Use::once, {});
    const auto response = receive(submit(*request));
    ASSERT_TRUE(response);
    ASSERT_FALSE(response->error);
    EXPECT_EQ(response->outputs.at(0).tensor.element_count(), 0U);
}

TEST_F(RequestBlockTest, AStopWaitsForWhatIsInFlight) {
    fake().delay(50);
    std::vector<Ref<ResponseQueue>> queues;
    std::vector<std::unique_ptr<InferenceRequest>> requests;
    for (const Use use : {Use::once, Use::reusable}) {
        requests.push_back(make_request(*server, "decoupled", use));
        queues.push_back(submit(*requests.back()));
    }
    server->stop();
    for (const auto& queue : queues) {
        for (int index = 0; index < 4; ++index) {
            EXPECT_TRUE(queue->pop());
        }
    }
    EXPECT_EQ(fake().live("Server"), 0U);
}

TEST_F(RequestBlockTest, AStopClosesWhatIsIdle) {
    const auto request = make_request(*server);
    server->stop();
    EXPECT_EQ(fake().live("Server"), 0U);
    EXPECT_EQ(Floats::alive(), 0);
    EXPECT_EQ(error_of([&] { request->set_id("x"); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error_of([&] { submit(*request); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error_of([&] { make_request(*server); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

TEST_F(RequestBlockTest, OutputsOutliveTheServer) {
    std::unique_ptr<InferenceResponse> response;
    {
        const auto request = make_request(*server);
        response = receive(submit(*request));
    }
    server->stop();
    server.reset();
    EXPECT_EQ(fake().live("Server"), 0U);
    ASSERT_TRUE(response);
    EXPECT_EQ(values_of(response->outputs.at(0).tensor), (Values{1, 2, 3}));
}

TEST_F(RequestBlockTest, TheServerStaysWhileASubmissionReturns) {
    for (const Use use : {Use::once, Use::reusable}) {
        fake().reset();
        server->stop();
        server = start_server();
        fake().linger(300);
        auto request = make_request(*server, "identity", use);
        const Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
        std::thread submitter([&] { submit(*request, queue); });
        EXPECT_TRUE(receive(queue));
        server->stop();  // the request is completed, but its submission has not returned
        EXPECT_EQ(fake().live("Server"), 1U);
        submitter.join();
        request.reset();
        EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 0U);
    }
}

// Each in a process of its own: it leaves a server behind, so that none is deleted there any more.
class RequestBlockDeathTest : public RuntimeTest {
  protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        RuntimeTest::SetUp();
    }
};

[[noreturn]] void stop_with_a_response_that_never_comes() {
    fake().drop(FAKE_TRITON_DROP_FINAL_RESPONSE);
    const auto server = start_server(0);
    const auto request = make_request(*server);
    const auto queue = submit(*request);
    const Error first = error_of([&] { server->stop(); });
    const Error second = error_of([&] { server->stop(); });  // the library would say success now
    const bool kept = fake().live("Server") == 1 && fake().calls("TRITONSERVER_ServerDelete") == 0;
    // What comes late finds everything that it needs, and lets go of the request.
    const bool delivered = eventually([] { return fake().deliver_dropped() == 1; });
    const bool closed = eventually([] { return fake().live("InferenceRequest") == 0; });
    const bool still_kept = ServerRegistry::instance().delete_stopped() == 1;
    ServerRegistry::instance().prepare_exit();
    const bool refused = error_of([] { start_server(); }).code() == TRITONSERVER_ERROR_UNAVAILABLE;
    const bool well = first.code() == TRITONSERVER_ERROR_INTERNAL && second.code() == TRITONSERVER_ERROR_UNAVAILABLE &&
                      kept && delivered && closed && still_kept && refused;
    std::exit(well && !::testing::Test::HasFailure() ? 7 : 1);
}

TEST_F(RequestBlockDeathTest, AStopThatTimesOutLeavesTheServerBehind) {
    EXPECT_EXIT(stop_with_a_response_that_never_comes(), ::testing::ExitedWithCode(7), "");
}

[[noreturn]] void fail_to_make_the_allocator() {
    auto server = start_server();
    {
        const auto request = make_request(*server);
        fake().fail("TRITONSERVER_ResponseAllocatorNew", 1, 1, TRITONSERVER_ERROR_INTERNAL, "as told");
        EXPECT_EQ(error_of([&] { submit(*request); }).message(), "as told");
        EXPECT_FALSE(request->in_flight());
        EXPECT_TRUE(receive(submit(*request)));
    }
    server->stop();
    EXPECT_EQ(fake().live("Server"), 0U);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST_F(RequestBlockDeathTest, AnAllocatorThatCannotBeMadeIsTriedAgain) {
    EXPECT_EXIT(fail_to_make_the_allocator(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace triton_inprocess::testing
