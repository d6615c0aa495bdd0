// One file descriptor for many queues.
#include "core/completion_hub.h"

#include <poll.h>

#include <thread>
#include <vector>

#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

bool readable(const CompletionHub& hub, int milliseconds = 0) {
    pollfd waiting = {hub.descriptor(), POLLIN, 0};
    return poll(&waiting, 1, milliseconds) == 1;
}

TEST(CompletionHubTest, IsReadableUntilItIsTaken) {
    const auto hub = make_ref<CompletionHub>();
    EXPECT_FALSE(readable(*hub));
    EXPECT_TRUE(hub->take().empty());
    const auto first = make_ref<ResponseQueue>();
    const auto second = make_ref<ResponseQueue>();
    hub->notify(first);
    hub->notify(second);
    EXPECT_TRUE(readable(*hub));
    const auto ready = hub->take();
    ASSERT_EQ(ready.size(), 2U);
    EXPECT_EQ(ready[0].get(), first.get());
    EXPECT_EQ(ready[1].get(), second.get());
    EXPECT_FALSE(readable(*hub));
    hub->notify(first);
    EXPECT_TRUE(readable(*hub));
}

TEST(CompletionHubTest, LosesNobody) {
    constexpr std::size_t threads = 4;
    constexpr std::size_t each = 500;
    const auto hub = make_ref<CompletionHub>();
    std::vector<std::thread> senders;
    for (std::size_t index = 0; index < threads; ++index) {
        senders.emplace_back([hub] {
            for (std::size_t count = 0; count < each; ++count) {
                const auto queue = make_ref<ResponseQueue>();
                if (queue->watch(hub, nullptr)) {
                    queue->push(std::make_unique<InferenceResponse>());
                }
            }
        });
    }
    std::size_t received = 0;
    while (received < threads * each && readable(*hub, 10'000)) {
        for (const Ref<ResponseQueue>& queue : hub->take()) {
            EXPECT_TRUE(queue->pop());
            ++received;
        }
    }
    EXPECT_EQ(received, threads * each);
    for (std::thread& sender : senders) {
        sender.join();
    }
}

}  // namespace
}  // namespace triton_inprocess::testing
