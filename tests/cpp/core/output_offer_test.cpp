// Memory that already holds an output is taken instead of a copy: once, for that size, on that thread.
#include "core/output_offer.h"

#include <thread>

#include "core/requests.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess::testing {
namespace {

Ref<Buffer> memory(std::size_t byte_size) {
    return HostBufferPool::instance().allocate(byte_size);
}

TEST(OutputOfferTest, IsTakenOnce) {
    const Ref<Buffer> buffer = memory(100);
    {
        const OutputOffer offer(buffer);
        EXPECT_FALSE(offer.taken());
        EXPECT_EQ(OutputOffer::take(100).get(), buffer.get());
        EXPECT_TRUE(offer.taken());
        EXPECT_FALSE(OutputOffer::take(100));
    }
    EXPECT_TRUE(buffer->unique());
}

TEST(OutputOfferTest, IsForAnOutputOfItsSize) {
    const Ref<Buffer> buffer = memory(100);
    const OutputOffer offer(buffer);
    EXPECT_FALSE(OutputOffer::take(99));
    EXPECT_FALSE(OutputOffer::take(101));
    EXPECT_FALSE(OutputOffer::take(0));
    EXPECT_FALSE(offer.taken());
    EXPECT_TRUE(OutputOffer::take(100));
}

TEST(OutputOfferTest, OfNothingIsNotTaken) {
    EXPECT_FALSE(OutputOffer::take(1));
    const OutputOffer offer(nullptr);
    EXPECT_FALSE(OutputOffer::take(0));
    EXPECT_FALSE(OutputOffer::take(1));
    EXPECT_FALSE(offer.taken());
    const OutputOffer empty(memory(0));
    EXPECT_FALSE(OutputOffer::take(0));
    EXPECT_FALSE(empty.taken());
}

TEST(OutputOfferTest, EndsWithItself) {
    const Ref<Buffer> outer = memory(100);
    const OutputOffer offer(outer);
    {
        const OutputOffer inner(memory(100));
        EXPECT_NE(OutputOffer::take(100).get(), outer.get());
    }
    EXPECT_EQ(OutputOffer::take(100).get(), outer.get());
}

TEST(OutputOfferTest, IsForItsThread) {
    const OutputOffer offer(memory(100));
    std::thread other([] { EXPECT_FALSE(OutputOffer::take(100)); });
    other.join();
    EXPECT_FALSE(offer.taken());
}

}  // namespace
}  // namespace triton_inprocess::testing
