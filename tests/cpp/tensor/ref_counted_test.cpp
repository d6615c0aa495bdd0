// Intrusive reference counts.
#include "tensor/ref_counted.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace triton_inprocess::testing {
namespace {

class Counted : public RefCounted {
  public:
    explicit Counted(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
    ~Counted() override { --alive_; }

  private:
    std::atomic<int>& alive_;
};

class Derived final : public Counted {
  public:
    using Counted::Counted;
};

TEST(RefTest, TheLastReferenceDeletes) {
    std::atomic<int> alive{0};
    {
        const Ref<Counted> first = make_ref<Derived>(alive);
        Ref<Counted> second = first;
        Ref<Counted> third = std::move(second);
        EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): it is what is tested
        third = first;
        third = nullptr;
        EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
}

TEST(RefTest, AReferenceCanBeGivenAwayAsAPointer) {
    std::atomic<int> alive{0};
    Counted* const pointer = make_ref<Counted>(alive).detach();
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(Ref<Counted>::adopt(pointer).get(), pointer);
    EXPECT_EQ(alive, 0);
}

TEST(RefTest, ThreadsShareAnObject) {
    std::atomic<int> alive{0};
    Ref<Counted> shared = make_ref<Counted>(alive);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([mine = shared] {
            for (int repetition = 0; repetition < 2000; ++repetition) {
                const Ref<Counted> copy = mine;  // NOLINT(performance-unnecessary-copy-initialization)
                EXPECT_TRUE(copy);
            }
        });
    }
    shared = nullptr;
    for (std::thread& thread : threads) {
        thread.join();
    }
    threads.clear();
    EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace triton_inprocess::testing
