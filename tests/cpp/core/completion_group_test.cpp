// One thread that sleeps for many queues.
#include "core/completion_group.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto long_enough = 60s;  // what does not come in this time does not come

TEST(CompletionGroupTest, HandsOutEachQueueOnce) {
    const auto group = make_ref<CompletionGroup>();
    EXPECT_TRUE(group->take().empty());
    const auto first = make_ref<ResponseQueue>();
    const auto second = make_ref<ResponseQueue>();
    group->notify(first);
    group->notify(second);
    const auto ready = group->take();
    ASSERT_EQ(ready.size(), 2U);
    EXPECT_EQ(ready[0].get(), first.get());
    EXPECT_EQ(ready[1].get(), second.get());
    EXPECT_TRUE(group->take().empty());
}

TEST(CompletionGroupTest, DoesNotSleepForWhatIsReady) {
    const auto group = make_ref<CompletionGroup>();
    group->notify(make_ref<ResponseQueue>());
    group->notify(make_ref<ResponseQueue>());
    const auto start = std::chrono::steady_clock::now();
    group->wait_for(0, long_enough);
    group->wait_for(1, long_enough);
    group->wait_for(2, long_enough);
    EXPECT_LT(std::chrono::steady_clock::now() - start, long_enough / 2);
    EXPECT_EQ(group->take().size(), 2U) << "waiting takes nothing away";
}

TEST(CompletionGroupTest, SleepsNoLongerThanItIsTold) {
    const auto group = make_ref<CompletionGroup>();
    group->notify(make_ref<ResponseQueue>());
    const auto start = std::chrono::steady_clock::now();
    group->wait_for(2, 5ms);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
    group->notify(make_ref<ResponseQueue>());
    EXPECT_EQ(group->take().size(), 2U) << "what comes when nobody sleeps is kept";
}

TEST(CompletionGroupTest, SleepsUntilThereAreEnough) {
    const auto group = make_ref<CompletionGroup>();
    std::atomic<bool> awake{false};
    std::size_t seen = 0;
    const auto start = std::chrono::steady_clock::now();
    std::thread sleeper([&] {
        group->wait_for(3, long_enough);
        awake = true;
        seen = group->take().size();
    });
    group->notify(make_ref<ResponseQueue>());
    group->notify(make_ref<ResponseQueue>());
    EXPECT_FALSE(awake) << "two are not three";
    group->notify(make_ref<ResponseQueue>());
    sleeper.join();
    EXPECT_EQ(seen, 3U);
    EXPECT_LT(std::chrono::steady_clock::now() - start, long_enough / 2);
}

TEST(CompletionGroupTest, LosesNobody) {
    constexpr std::size_t threads = 4;
    constexpr std::size_t each = 500;
    const auto group = make_ref<CompletionGroup>();
    std::vector<std::thread> senders;
    for (std::size_t index = 0; index < threads; ++index) {
        senders.emplace_back([group] {
            for (std::size_t count = 0; count < each; ++count) {
                const auto queue = make_ref<ResponseQueue>();
                if (queue->watch(group, nullptr)) {
                    queue->push(std::make_unique<InferenceResponse>());
                }
            }
        });
    }
    // A few at a time, as those do who wait for many requests: the last ones are fewer than a whole lot.
    std::size_t received = 0;
    while (received < threads * each) {
        const std::size_t wanted = std::min<std::size_t>(16, threads * each - received);
        group->wait_for(wanted, long_enough);
        const auto ready = group->take();
        EXPECT_GE(ready.size(), wanted);
        if (ready.empty()) {
            break;  // a minute is over
        }
        for (const Ref<ResponseQueue>& queue : ready) {
            EXPECT_TRUE(queue->pop());
        }
        received += ready.size();
    }
    EXPECT_EQ(received, threads * each);
    for (std::thread& sender : senders) {
        sender.join();
    }
    EXPECT_TRUE(group->take().empty());
}

}  // namespace
}  // namespace triton_inprocess::testing
