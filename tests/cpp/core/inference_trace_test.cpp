// Traces: who deletes them, what is told of them, and that a tree lives until its last trace is gone.
#include "core/inference_trace.h"

#include <thread>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

class Log final : public TraceObserver {
  public:
    void on_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity /*activity*/,
                     std::uint64_t /*timestamp_ns*/) noexcept override {
        if (reads_names) {
            last_model_is_known.store(!trace->model_name().empty());
        }
        ++activities;
    }
    void on_tensor_activity(const Ref<InferenceTrace>& /*trace*/, TRITONSERVER_InferenceTraceActivity /*activity*/,
                            const TracedTensor& tensor) noexcept override {
        bytes += tensor.byte_size;
    }
    void on_release(const Ref<InferenceTrace>& trace) noexcept override {
        trace->id();
        ++releases;
    }
    void on_end() noexcept override { ++ends; }

    std::atomic<bool> reads_names{true};
    std::atomic<int> activities{0};
    std::atomic<int> releases{0};
    std::atomic<int> ends{0};
    std::atomic<std::size_t> bytes{0};
    std::atomic<bool> last_model_is_known{false};
};

/// Counts what a submission is told.
class Counter final : public RequestObserver {
  public:
    void on_response(std::unique_ptr<InferenceResponse> response, std::uint32_t /*flags*/) noexcept override {
        ++responses;
        finals += response->final ? 1 : 0;
    }
    void on_release(std::uint32_t flags) noexcept override {
        releases += (flags & TRITONSERVER_REQUEST_RELEASE_ALL) != 0 ? 1 : 0;
        reschedules += (flags & TRITONSERVER_REQUEST_RELEASE_RESCHEDULE) != 0 ? 1 : 0;
    }
    void on_failure() noexcept override { ++failures; }

    bool completed() const { return finals == 1 && releases == 1; }

    std::atomic<int> responses{0};
    std::atomic<int> finals{0};
    std::atomic<int> releases{0};
    std::atomic<int> reschedules{0};
    std::atomic<int> failures{0};
};

class InferenceTraceTest : public CoreTest {
  protected:
    void SetUp() override {
        CoreTest::SetUp();
        server = start_server();
    }
    void TearDown() override {
        server->stop();
        server.reset();
        CoreTest::TearDown();
    }

    Ref<InferenceTrace> make(std::uint32_t level = TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, bool with_tensors = false) {
        return InferenceTrace::make(level, 7, with_tensors, log);
    }

    /// Sends a request with the trace and waits until it is completed.
    void send(const Ref<InferenceTrace>& trace, const std::string& model = "identity") {
        const auto request = make_request(*server, model);
        const Ref<Counter> counter = make_ref<Counter>();
        RequestBlock::Submission submission;
        submission.observer = counter;
        submission.trace = trace;
        request->submit(std::move(submission));
        EXPECT_TRUE(eventually([&] { return counter->completed(); }));
    }

    std::unique_ptr<Server> server;
    Ref<Log> log = make_ref<Log>();
};

TEST_F(InferenceTraceTest, IsDeletedUnsent) {
    Ref<InferenceTrace> trace = make();
    EXPECT_EQ(trace->parent_id(), 7U);
    trace->set_context("{}");
    EXPECT_EQ(trace->context(), "{}");
    trace = nullptr;
    EXPECT_EQ(log->ends, 1);
    EXPECT_EQ(log->releases, 0);
}

TEST_F(InferenceTraceTest, IsReadWhenItIsReleased) {
    const Ref<InferenceTrace> trace = make();
    const std::uint64_t id = trace->id();
    send(trace);
    EXPECT_TRUE(eventually([&] { return log->ends == 1; }));
    EXPECT_EQ(log->releases, 1);
    EXPECT_GT(log->activities, 2);
    EXPECT_TRUE(log->last_model_is_known);
    EXPECT_EQ(trace->id(), id);
    EXPECT_EQ(trace->model_name(), "identity");
    EXPECT_EQ(error_of([&] { trace->set_context("late"); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error_of([&] { trace->spawn_child(); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error_of([&] { trace->hand_over(); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

TEST_F(InferenceTraceTest, TellsOfTensorsIfItCan) {
    send(make(TRITONSERVER_TRACE_LEVEL_TENSORS, true));
    EXPECT_TRUE(eventually([&] { return log->ends == 1; }));
    EXPECT_GE(log->bytes, 3 * sizeof(float));
    EXPECT_EQ(log->activities, 0) << "timestamps were not asked for";
    log = make_ref<Log>();
    send(make(TRITONSERVER_TRACE_LEVEL_TENSORS, false));
    EXPECT_TRUE(eventually([&] { return log->ends == 1; }));
}

TEST_F(InferenceTraceTest, ATreeEndsWithItsLastTrace) {
    for (const bool children_last : {false, true}) {
        log = make_ref<Log>();
        fake().release_child_traces_last(children_last);
        send(make(), "ensemble");
        EXPECT_TRUE(eventually([&] { return log->ends == 1; }));
        EXPECT_GT(log->releases, 1);
    }
}

TEST_F(InferenceTraceTest, ChildrenOfTheUserShareTheTree) {
    Ref<InferenceTrace> root = make();
    const Ref<InferenceTrace> child = root->spawn_child();
    EXPECT_EQ(child->parent_id(), root->id());
    EXPECT_TRUE(root->tree().unsent());
    root->report_activity(1, "mine");
    EXPECT_EQ(log->activities, 1);
    root = nullptr;
    EXPECT_EQ(log->ends, 0);
    send(child);
    EXPECT_TRUE(eventually([&] { return log->ends == 1; }));
}

TEST_F(InferenceTraceTest, AFailedSubmissionDeletesItOnce) {
    const auto request = make_request(*server);
    for (const bool at_enqueueing : {false, true}) {
        if (at_enqueueing) {
            fake().fail_enqueueing(1);
        } else {
            fake().fail("TRITONSERVER_ServerInferAsync", 1, 1, TRITONSERVER_ERROR_INTERNAL, "as told");
        }
        log = make_ref<Log>();
        const Ref<InferenceTrace> trace = make();
        const Ref<Counter> counter = make_ref<Counter>();
        RequestBlock::Submission submission;
        submission.observer = counter;
        submission.trace = trace;
        error_of([&] { request->submit(std::move(submission)); });
        EXPECT_EQ(counter->failures, 1);
        EXPECT_EQ(counter->responses + counter->releases, 0);
        EXPECT_EQ(log->ends, 1);
        EXPECT_EQ(log->releases, at_enqueueing ? 1 : 0);
        EXPECT_FALSE(request->in_flight());
    }
    const auto queue = submit(*request);
    EXPECT_TRUE(queue->wait_for(long_time));
}

TEST_F(InferenceTraceTest, ActivitiesAreReportedWhileItIsReleased) {
    log->reads_names = false;  // the library writes them while it takes the trace
    for (int i = 0; i < 50; ++i) {
        const Ref<InferenceTrace> trace = make();
        std::atomic<bool> stop{false};
        std::thread reporter([&] {
            while (!stop) {
                try {
                    trace->report_activity(1, "mine");
                    trace->id();
                } catch (const Error&) {
                    return;
                }
            }
        });
        send(trace);
        stop = true;
        reporter.join();
    }
}

TEST_F(InferenceTraceTest, AnObserverIsToldOfEveryOrder) {
    for (const int order : {FAKE_TRITON_RESPONSE_FIRST, FAKE_TRITON_RELEASE_FIRST, FAKE_TRITON_TOGETHER}) {
        fake().order(order);
        fake().reschedule(true);
        const auto request = make_request(*server);
        for (int i = 0; i < 20; ++i) {
            const Ref<Counter> counter = make_ref<Counter>();
            RequestBlock::Submission submission;
            submission.observer = counter;
            request->submit(std::move(submission));
            EXPECT_TRUE(eventually([&] { return counter->completed(); }));
            EXPECT_EQ(counter->reschedules, 1);
        }
    }
}

TEST_F(InferenceTraceTest, ACancellationMayComeDuringTheSubmission) {
    fake().delay(1);
    const auto request = make_request(*server);
    std::atomic<bool> stop{false};
    std::thread canceller([&] {
        while (!stop) {
            request->cancel();
        }
    });
    for (int i = 0; i < 200; ++i) {
        const auto queue = submit(*request);
        EXPECT_TRUE(queue->wait_for(long_time));
    }
    stop = true;
    canceller.join();
}

}  // namespace
}  // namespace triton_inprocess::testing
