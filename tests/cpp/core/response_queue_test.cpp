// Responses from one thread to another.
#include "core/response_queue.h"

#include <thread>

#include "core/completion_hub.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

std::unique_ptr<InferenceResponse> numbered(std::int64_t number) {
    auto response = std::make_unique<InferenceResponse>();
    response->model_version = number;
    return response;
}

TEST(ResponseQueueTest, KeepsTheOrder) {
    const auto queue = make_ref<ResponseQueue>();
    EXPECT_FALSE(queue->pop());
    EXPECT_FALSE(queue->wait_for(std::chrono::milliseconds(1)));
    for (int round = 0; round < 2; ++round) {
        for (std::int64_t number = 0; number < 3; ++number) {
            queue->push(numbered(number));
        }
        EXPECT_TRUE(queue->wait_for(std::chrono::milliseconds(0)));
        for (std::int64_t number = 0; number < 3; ++number) {
            EXPECT_EQ(queue->pop()->model_version, number);
        }
        EXPECT_FALSE(queue->pop());
    }
}

TEST(ResponseQueueTest, ASecondQueueGetsEverythingToo) {
    const auto second = make_ref<ResponseQueue>();
    const auto first = make_ref<ResponseQueue>(second);
    first->push(numbered(1));
    EXPECT_EQ(first->pop()->model_version, 1);
    EXPECT_EQ(second->pop()->model_version, 1);
}

TEST(ResponseQueueTest, AVeryLongOneEndsWithoutRecursion) {
    const auto queue = make_ref<ResponseQueue>();
    for (std::int64_t number = 0; number < 200'000; ++number) {
        queue->push(numbered(number));
    }
}

TEST(ResponseQueueTest, WakesWhoSleeps) {
    constexpr std::int64_t count = 2000;
    const auto queue = make_ref<ResponseQueue>();
    std::thread sender([queue] {
        for (std::int64_t number = 0; number < count; ++number) {
            queue->push(numbered(number));
        }
    });
    for (std::int64_t number = 0; number < count; ++number) {
        ASSERT_TRUE(queue->wait_for(std::chrono::seconds(10)));
        EXPECT_EQ(queue->pop()->model_version, number);
    }
    sender.join();
}

TEST(ResponseQueueTest, IsWatchedOnceAndOnlyWhileEmpty) {
    const auto hub = make_ref<CompletionHub>();
    const auto queue = make_ref<ResponseQueue>();
    int waiter = 0;
    ASSERT_TRUE(queue->watch(hub, &waiter));
    EXPECT_EQ(queue->waiter(), &waiter);
    queue->push(numbered(1));
    queue->push(numbered(2));
    EXPECT_EQ(hub->take().size(), 1U);
    EXPECT_FALSE(queue->watch(hub, &waiter));
    EXPECT_TRUE(hub->take().empty());
}

}  // namespace
}  // namespace triton_inprocess::testing
