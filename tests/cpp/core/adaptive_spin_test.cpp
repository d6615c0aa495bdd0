// When a thread waits awake, and when it does not even try.
#include "core/adaptive_spin.h"

#include <chrono>

#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

using namespace std::chrono_literals;

/// Whether a wait for what never comes has looked for it at all.
bool tries(AdaptiveSpin& spin) {
    bool looked = false;
    EXPECT_FALSE(spin.until([&] {
        looked = true;
        return false;
    }));
    return looked;
}

/// So many waits go by until one is tried again, `most` at the most.
unsigned waits_without_a_try(AdaptiveSpin& spin, unsigned most = 5000) {
    unsigned waits = 0;
    while (waits < most && !tries(spin)) {
        ++waits;
    }
    return waits;
}

/// Short waits: they make up for a wait that took long because this thread was not let run.
void wait_briefly(AdaptiveSpin& spin) {
    for (int i = 0; i < 200; ++i) {
        spin.slept(0ns);
    }
}

TEST(AdaptiveSpinTest, LooksUntilItHasArrived) {
    AdaptiveSpin spin;
    int looks = 0;
    EXPECT_TRUE(spin.until([&] { return ++looks == 16; }));
    EXPECT_EQ(looks, 16);
}

TEST(AdaptiveSpinTest, GivesUpAfterAWhile) {
    AdaptiveSpin spin;
    const auto start = AdaptiveSpin::Clock::now();
    int looks = 0;
    EXPECT_FALSE(spin.until([&] {
        ++looks;
        return false;
    }));
    EXPECT_GE(AdaptiveSpin::Clock::now() - start, 50us);
    EXPECT_GE(looks, 16);
}

TEST(AdaptiveSpinTest, TriesMoreSeldomTheOftenerItWasInVain) {
    AdaptiveSpin spin;
    EXPECT_TRUE(tries(spin));
    for (unsigned expected = 2; expected <= 1024; expected *= 2) {
        EXPECT_EQ(waits_without_a_try(spin), expected);
    }
    EXPECT_EQ(waits_without_a_try(spin), 1024U) << "it must not stop trying";
}

TEST(AdaptiveSpinTest, ASuccessIsANewStart) {
    AdaptiveSpin spin;
    EXPECT_TRUE(tries(spin));
    EXPECT_EQ(waits_without_a_try(spin), 2U);
    EXPECT_EQ(waits_without_a_try(spin), 4U);
    for (int i = 0; i < 8; ++i) {
        EXPECT_FALSE(spin.until([] { return true; })) << "it has not looked yet";
    }
    EXPECT_TRUE(spin.until([] { return true; }));
    wait_briefly(spin);
    EXPECT_TRUE(tries(spin));
    EXPECT_EQ(waits_without_a_try(spin), 2U);
}

TEST(AdaptiveSpinTest, DoesNotTryWhileWaitsAreLong) {
    AdaptiveSpin spin;
    spin.slept(1ms);
    EXPECT_FALSE(tries(spin));
    EXPECT_EQ(waits_without_a_try(spin, 100), 100U) << "time alone changes nothing";
    wait_briefly(spin);
    EXPECT_TRUE(tries(spin));
}

TEST(AdaptiveSpinTest, OneLongWaitAmongShortOnesIsForgiven) {
    AdaptiveSpin spin;
    spin.slept(200us);
    EXPECT_TRUE(tries(spin)) << "an eighth of it is 25 us";
    spin.slept(1ms);
    EXPECT_EQ(waits_without_a_try(spin, 100), 100U);
}

}  // namespace
}  // namespace triton_inprocess::testing
