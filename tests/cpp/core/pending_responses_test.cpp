// Requests whose responses wait for room: Triton's thread is held up, and always let go.
#include <thread>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

constexpr std::int64_t responses = 50;

class PendingResponsesTest : public RunningServerTest {
  protected:
    /// Sends a request with room for two responses.
    Ref<ResponseQueue> send(std::optional<ResponseQueue::Clock::time_point> deadline = {}) {
        request = make_request(*server, "decoupled", RequestBlock::Use::once);
        request->set_parameter("responses", responses);
        Ref<ResponseQueue> queue = make_ref<ResponseQueue>(ResponseQueue::Bound{2, deadline});
        submit(*request, queue);
        return queue;
    }

    /// Whether the request stays in flight for a while.
    bool is_held_up() {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return request->in_flight();
    }

    bool completes() {
        return eventually([&] { return !request->in_flight(); });
    }

    std::unique_ptr<InferenceRequest> request;
};

int drain(const Ref<ResponseQueue>& queue) {
    int count = 0;
    while (const auto response = receive(queue)) {
        ++count;
        if (response->final) {
            break;
        }
    }
    return count;
}

TEST_F(PendingResponsesTest, EachResponseThatIsTakenMakesRoom) {
    const auto queue = send();
    EXPECT_TRUE(is_held_up());
    EXPECT_EQ(drain(queue), responses + 1);
    EXPECT_TRUE(completes());
}

TEST_F(PendingResponsesTest, AClosedQueueLetsTheModelGo) {
    const auto queue = send();
    EXPECT_TRUE(is_held_up());
    queue->close();
    EXPECT_TRUE(completes());
    EXPECT_FALSE(queue->pop());
}

TEST_F(PendingResponsesTest, TheStopLetsTheModelGo) {
    const auto queue = send();
    EXPECT_TRUE(is_held_up());
    server->stop();
    server.reset();
    EXPECT_TRUE(completes());
    EXPECT_EQ(drain(queue), responses + 1);
}

TEST_F(PendingResponsesTest, TheDeadlineLetsTheModelGoAndCancels) {
    const auto queue = send(ResponseQueue::Clock::now() + std::chrono::milliseconds(20));
    EXPECT_TRUE(completes());
    EXPECT_TRUE(queue->pop());
    EXPECT_TRUE(queue->pop());
    EXPECT_FALSE(queue->pop());
    EXPECT_GE(fake().calls("TRITONSERVER_InferenceRequestCancel"), 1U);
}

TEST_F(PendingResponsesTest, AFailedSubmissionForgetsTheQueue) {
    ASSERT_TRUE(fake().fail("TRITONSERVER_ServerInferAsync", 1, 1, TRITONSERVER_ERROR_UNAVAILABLE, "as told"));
    EXPECT_EQ(error_of([&] { send(); }).message(), "as told");
    EXPECT_EQ(drain(send()), responses + 1);
}

TEST_F(PendingResponsesTest, ManyReadersAndAStopMeet) {
    std::vector<std::unique_ptr<InferenceRequest>> requests;
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
        const auto queue = send();
        requests.push_back(std::move(request));
        readers.emplace_back([queue] { EXPECT_EQ(drain(queue), responses + 1); });
    }
    server->stop();
    for (std::thread& reader : readers) {
        reader.join();
    }
    server.reset();
}

}  // namespace
}  // namespace triton_inprocess::testing
