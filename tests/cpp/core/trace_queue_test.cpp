// Traces that are done, on their way to whoever wants them.
#include "core/trace_queue.h"

#include <gtest/gtest.h>

#include <thread>

namespace triton_inprocess::testing {
namespace {

Ref<TraceRecord> record() {
    return make_ref<TraceRecord>(false);
}

TEST(TraceQueueTest, KeepsTheOrderAndCountsWhatThereIsNoRoomFor) {
    const Ref<TraceQueue> queue = make_ref<TraceQueue>(2);
    const std::vector<Ref<TraceRecord>> records = {record(), record(), record(), record()};
    for (const Ref<TraceRecord>& each : records) {
        queue->expect();
        queue->push(each);
    }
    EXPECT_TRUE(queue->wait());
    TraceQueue::Batch batch = queue->take();
    ASSERT_EQ(batch.traces.size(), 2U);
    EXPECT_EQ(batch.traces[0].get(), records[0].get());
    EXPECT_EQ(batch.traces[1].get(), records[1].get());
    EXPECT_EQ(batch.dropped, 2U);
    queue->expect();
    queue->push(records[3]);
    batch = queue->take();
    EXPECT_EQ(batch.traces.size(), 1U);
    EXPECT_EQ(batch.dropped, 0U);
}

TEST(TraceQueueTest, AClosedOneEndsItsTakersWhenNothingIsInFlight) {
    const Ref<TraceQueue> queue = make_ref<TraceQueue>(2);
    queue->expect();
    std::thread taker([&queue] {
        int taken = 0;
        while (queue->wait()) {
            taken += static_cast<int>(queue->take().traces.size());
        }
        EXPECT_EQ(taken, 1);
    });
    queue->close();
    queue->push(record());
    taker.join();
}

TEST(TraceQueueTest, ATraceThatNeverComesIsNotWaitedForForEver) {
    const Ref<TraceQueue> queue = make_ref<TraceQueue>(2);
    queue->expect();
    queue->close();
    EXPECT_FALSE(queue->wait());
}

}  // namespace
}  // namespace triton_inprocess::testing
