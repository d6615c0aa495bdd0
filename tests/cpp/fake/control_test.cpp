// What a test can tell the fake to do.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/c_inference.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

using ControlTest = RuntimeTest;
using Events = std::vector<std::string>;

const Events one_output = {"start", "query", "allocate", "attributes of 16"};

Events after_output(Events more) {
    Events all = one_output;
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

bool is_live(TRITONSERVER_Server* server) {
    bool live = false;
    check(api().TRITONSERVER_ServerIsLive(server, &live));
    return live;
}

TEST_F(ControlTest, FailsTheCallsItIsToldTo) {
    const CServer server;
    ASSERT_TRUE(fake().fail("TRITONSERVER_ServerIsLive", 2, 1, TRITONSERVER_ERROR_UNAVAILABLE, "as told"));
    EXPECT_TRUE(is_live(server.get()));
    const Error error = error_of([&] { is_live(server.get()); });
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error.message(), "as told");
    EXPECT_TRUE(is_live(server.get()));

    ASSERT_TRUE(fake().fail("TRITONSERVER_ServerIsLive", 1, 0, TRITONSERVER_ERROR_INTERNAL, "always"));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(error_of([&] { is_live(server.get()); }).message(), "always");
    }
    EXPECT_EQ(fake().calls("TRITONSERVER_ServerIsLive"), 6);
    fake().reset();
    EXPECT_TRUE(is_live(server.get()));
    EXPECT_EQ(fake().calls("TRITONSERVER_ServerIsLive"), 1);
}

TEST_F(ControlTest, RefusesWhatCannotFail) {
    EXPECT_FALSE(fake().fail("TRITONSERVER_NoSuchFunction", 1, 1, TRITONSERVER_ERROR_INTERNAL, "x"));
    EXPECT_FALSE(fake().fail("TRITONSERVER_ErrorMessage", 1, 1, TRITONSERVER_ERROR_INTERNAL, "x"));
    EXPECT_EQ(fake().calls("TRITONSERVER_NoSuchFunction"), -1);
}

TEST_F(ControlTest, ResponseThenRelease) {
    const CServer server;
    CInference inference(server.get(), "identity");
    inference.submit();
    ASSERT_TRUE(inference.wait());
    EXPECT_EQ(inference.events(), after_output({"final", "release"}));
    inference.delete_responses();
    EXPECT_EQ(inference.events().back(), "release buffer");
}

TEST_F(ControlTest, ReleaseThenResponse) {
    const CServer server;
    fake().order(FAKE_TRITON_RELEASE_FIRST);
    CInference inference(server.get(), "decoupled");
    inference.submit();
    ASSERT_TRUE(inference.wait());
    const Events events = inference.events();
    EXPECT_EQ(Events(events.end() - 5, events.end()), (Events{"release", "response", "response", "response", "final"}));
}

TEST_F(ControlTest, Reschedule) {
    const CServer server;
    fake().reschedule(true);
    CInference inference(server.get(), "identity");
    inference.submit();
    ASSERT_TRUE(inference.wait());
    EXPECT_EQ(inference.events(), after_output({"reschedule", "final", "release"}));
}

TEST_F(ControlTest, EachResponseOnAThreadOfItsOwn) {
    const CServer server;
    fake().respond_on_own_threads(true);
    fake().order(FAKE_TRITON_TOGETHER);
    CInference inference(server.get(), "decoupled");
    inference.submit();
    ASSERT_TRUE(inference.wait());
    EXPECT_EQ(inference.response_threads().size(), 4U);
    EXPECT_EQ(inference.responses().size(), 3U);
}

TEST_F(ControlTest, DroppedCallbacksCanBeMadeUpFor) {
    const CServer server;
    fake().drop(FAKE_TRITON_DROP_FINAL_RESPONSE | FAKE_TRITON_DROP_RELEASE);
    CInference inference(server.get(), "decoupled");
    inference.submit();
    EXPECT_TRUE(eventually([&] { return inference.responses().size() == 3; }));
    EXPECT_TRUE(eventually([&] {
        fake().deliver_dropped();  // the release may be dropped only after the first look
        return inference.events().back() == "release";
    }));
    EXPECT_TRUE(inference.wait());
}

TEST_F(ControlTest, CancellingEndsADelay) {
    const CServer server;
    fake().delay(60'000);
    CInference inference(server.get(), "identity");
    inference.submit();
    check(api().TRITONSERVER_InferenceRequestCancel(inference.request));
    ASSERT_TRUE(inference.wait());
    const Error error = error_of([&] { check(api().TRITONSERVER_InferenceResponseError(inference.responses()[0])); });
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_CANCELLED);
}

TEST_F(ControlTest, StopWaitsForTheExitTimeoutAndThenSaysSuccess) {
    const CServer server(0);
    CInference inference(server.get(), "identity");
    EXPECT_EQ(error_of([&] { check(api().TRITONSERVER_ServerStop(server.get())); }).message(),
              "Exit timeout expired. Exiting immediately.");
    check(api().TRITONSERVER_ServerStop(server.get()));
}

TEST_F(ControlTest, CachedModelAnswersOnTheSubmittingThread) {
    const CServer server;
    CInference inference(server.get(), "cached");
    inference.submit();
    EXPECT_EQ(inference.events().back(), "release");
    EXPECT_EQ(inference.response_threads(), std::vector<std::thread::id>{std::this_thread::get_id()});
}

TEST_F(ControlTest, AnEarlyFailureTakesNothing) {
    const CServer server;
    CInference inference(server.get(), "identity", "WRONG");
    EXPECT_EQ(error_of([&] { inference.submit(); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    check(api().TRITONSERVER_InferenceRequestSetId(inference.request, "still mine"));
}

struct Traced {
    std::vector<std::string> events;

    static void on_activity(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity,
                            std::uint64_t /*time*/, void* user) {
        const char* model = nullptr;
        check(api().TRITONSERVER_InferenceTraceModelName(trace, &model));
        static_cast<Traced*>(user)->events.push_back(std::string(model) + " " +
                                                     api().TRITONSERVER_InferenceTraceActivityString(activity));
    }
    static void on_tensor(TRITONSERVER_InferenceTrace* /*trace*/, TRITONSERVER_InferenceTraceActivity activity,
                          const char* name, TRITONSERVER_DataType /*type*/, const void* /*base*/,
                          std::size_t /*byte_size*/, const std::int64_t* /*shape*/, std::uint64_t /*rank*/,
                          TRITONSERVER_MemoryType /*memory_type*/, std::int64_t /*id*/, void* user) {
        static_cast<Traced*>(user)->events.push_back(std::string(name) + " " +
                                                     api().TRITONSERVER_InferenceTraceActivityString(activity));
    }
    static void on_release(TRITONSERVER_InferenceTrace* trace, void* user) {
        std::uint64_t parent = 0;
        check(api().TRITONSERVER_InferenceTraceParentId(trace, &parent));
        static_cast<Traced*>(user)->events.emplace_back(parent == 0 ? "release" : "release child");
        check(api().TRITONSERVER_InferenceTraceDelete(trace));
    }

    TRITONSERVER_InferenceTrace* make(int level) {
        TRITONSERVER_InferenceTrace* trace = nullptr;
        check(api().TRITONSERVER_InferenceTraceTensorNew(&trace, static_cast<TRITONSERVER_InferenceTraceLevel>(level),
                                                         0, on_activity, on_tensor, on_release, this));
        return trace;
    }
};

TEST_F(ControlTest, TracesByTheirLevel) {
    const CServer server;
    Traced timestamps;
    Traced tensors;
    for (Traced* traced : {&timestamps, &tensors}) {
        CInference inference(server.get(), "identity");
        inference.submit(
            traced->make(traced == &tensors ? TRITONSERVER_TRACE_LEVEL_TENSORS : TRITONSERVER_TRACE_LEVEL_TIMESTAMPS));
        ASSERT_TRUE(inference.wait());
    }
    EXPECT_EQ(timestamps.events, (Events{"identity REQUEST_START", "identity QUEUE_START", "identity COMPUTE_START",
                                         "identity COMPUTE_INPUT_END", "identity COMPUTE_OUTPUT_START",
                                         "identity COMPUTE_END", "identity REQUEST_END", "release"}));
    EXPECT_EQ(tensors.events, (Events{"INPUT0 TENSOR_QUEUE_INPUT", "INPUT0 TENSOR_BACKEND_INPUT",
                                      "OUTPUT0 TENSOR_BACKEND_OUTPUT", "release"}));
    EXPECT_EQ(fake().live("InferenceTrace"), 0U);
}

TEST_F(ControlTest, ChildTracesBeforeOrAfterTheRoot) {
    const CServer server;
    for (const bool last : {false, true}) {
        fake().release_child_traces_last(last);
        Traced traced;
        CInference inference(server.get(), "ensemble");
        inference.submit(traced.make(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS));
        ASSERT_TRUE(inference.wait());
        Events releases;
        std::copy_if(traced.events.begin(), traced.events.end(), std::back_inserter(releases),
                     [](const std::string& event) { return event.rfind("release", 0) == 0; });
        EXPECT_EQ(releases, last ? (Events{"release", "release child", "release child"})
                                 : (Events{"release child", "release child", "release"}));
    }
}

TEST_F(ControlTest, AFailureAtEnqueueingReleasesTheTrace) {
    const CServer server;
    fake().fail_enqueueing(1);
    Traced traced;
    CInference inference(server.get(), "identity");
    EXPECT_EQ(error_of([&] { inference.submit(traced.make(TRITONSERVER_TRACE_LEVEL_TIMESTAMPS)); }).code(),
              TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(traced.events.back(), "release");
    inference.submit();
    EXPECT_TRUE(inference.wait());
}

}  // namespace
}  // namespace triton_inprocess::testing
