// Responses from one thread to another.
#include "core/response_queue.h"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/completion_hub.h"
#include "support/fake_triton.h"
#include "tensor/unlocked_wait.h"

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

std::unique_ptr<InferenceResponse> last(std::int64_t number) {
    auto response = numbered(number);
    response->final = true;
    return response;
}

/// Pushes on a thread of its own, which counts what it has pushed.
class Sender {
  public:
    Sender(Ref<ResponseQueue> queue, std::int64_t count)
        : thread_([this, queue = std::move(queue), count] {
              for (std::int64_t number = 0; number < count; ++number) {
                  wanted = queue->push(numbered(number)) && wanted;
                  ++sent;
              }
          }) {}
    ~Sender() { thread_.join(); }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// Whether it has pushed so many and is held up then.
    bool stays_at(std::int64_t count) {
        const bool reached = eventually([&] { return sent == count; });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return reached && sent == count;
    }

    std::atomic<std::int64_t> sent{0};
    std::atomic<bool> wanted{true};

  private:
    std::thread thread_;
};

TEST(ResponseQueueTest, ABoundHoldsTheSenderUp) {
    for (const std::size_t limit : {1U, 3U}) {
        const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{limit, {}});
        EXPECT_TRUE(queue->bounded());
        Sender sender(queue, 10);
        for (std::int64_t number = 0; number < 10; ++number) {
            EXPECT_TRUE(number > 3 || sender.stays_at(number + static_cast<std::int64_t>(limit)));
            ASSERT_TRUE(queue->wait_for(std::chrono::seconds(10)));
            EXPECT_EQ(queue->pop()->model_version, number);
        }
        EXPECT_TRUE(eventually([&] { return sender.sent == 10; }));
        EXPECT_TRUE(sender.wanted);
    }
}

TEST(ResponseQueueTest, TheLastResponseNeedsNoRoom) {
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{1, {}});
    std::thread([queue] {
        EXPECT_TRUE(queue->push(numbered(0)));
        EXPECT_TRUE(queue->push(last(1)));
    }).join();
    EXPECT_EQ(queue->pop()->model_version, 0);
    EXPECT_EQ(queue->pop()->model_version, 1);
}

TEST(ResponseQueueTest, OpenedItHoldsNobodyUp) {
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{2, {}});
    {
        Sender sender(queue, 100);
        EXPECT_TRUE(sender.stays_at(2));
        queue->open();
    }
    for (std::int64_t number = 0; number < 100; ++number) {
        EXPECT_EQ(queue->pop()->model_version, number);
    }
}

TEST(ResponseQueueTest, RelaxedItHoldsNobodyUpUntilSomebodyAsks) {
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{2, {}});
    {
        Sender sender(queue, 10);
        EXPECT_TRUE(sender.stays_at(2));
        queue->relax();
    }
    EXPECT_EQ(queue->pop()->model_version, 0);
    Sender sender(queue, 10);
    EXPECT_TRUE(sender.stays_at(0));
    for (std::int64_t number = 1; number < 20; ++number) {
        ASSERT_TRUE(queue->wait_for(std::chrono::seconds(10)));
        EXPECT_EQ(queue->pop()->model_version, number % 10);
    }
}

TEST(ResponseQueueTest, ClosedItDropsEverything) {
    for (const std::size_t limit : {0U, 2U}) {
        const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{limit, {}});
        {
            Sender sender(queue, 100);
            EXPECT_TRUE(sender.stays_at(limit == 0 ? 100 : 2));
            queue->close();
        }
        EXPECT_FALSE(queue->pop());
        EXPECT_TRUE(queue->push(last(0)));
        EXPECT_FALSE(queue->pop());
    }
}

TEST(ResponseQueueTest, AfterTheDeadlineNothingMoreComes) {
    const auto deadline = ResponseQueue::Clock::now() + std::chrono::milliseconds(50);
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{2, deadline});
    {
        Sender sender(queue, 100);
        EXPECT_TRUE(eventually([&] { return sender.sent == 100; }));
        EXPECT_FALSE(sender.wanted);
    }
    EXPECT_GE(ResponseQueue::Clock::now(), deadline);
    EXPECT_EQ(queue->pop()->model_version, 0);
    EXPECT_EQ(queue->pop()->model_version, 1);
    EXPECT_FALSE(queue->pop());
}

TEST(ResponseQueueTest, OneThreadCannotWaitForItself) {
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{1, {}});
    EXPECT_TRUE(queue->push(numbered(0)));
    EXPECT_TRUE(queue->push(numbered(1)));
    EXPECT_TRUE(queue->push(last(2)));
    EXPECT_FALSE(queue->pop()->error);
    const auto refused = queue->pop();
    ASSERT_TRUE(refused->error);
    EXPECT_EQ(refused->error->code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_NE(refused->error->message().find("max_pending_responses=1"), std::string::npos);
    EXPECT_EQ(refused->model_version, 1);
    EXPECT_FALSE(refused->final);
    EXPECT_FALSE(queue->pop()->error);
}

/// Stands for Python's lock: what a thread that waits gives up.
class Gil {
  public:
    static void* give() noexcept {
        if (!held) {
            return nullptr;
        }
        held = false;
        mutex.unlock();
        return &mutex;
    }
    static void take(void* /*state*/) noexcept {
        mutex.lock();
        held = true;
    }

    static inline std::mutex mutex;
    static inline thread_local bool held = false;
};

TEST(ResponseQueueTest, WhoWaitsGivesPythonsLockUp) {
    static constexpr UnlockedWait::Lock lock = {&Gil::give, &Gil::take};
    UnlockedWait::set_lock(&lock);
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{1, {}});
    std::thread sender([queue] {
        Gil::take(nullptr);
        for (std::int64_t number = 0; number < 20; ++number) {
            EXPECT_TRUE(queue->push(numbered(number)));
            EXPECT_TRUE(Gil::held);
        }
        Gil::give();
    });
    for (std::int64_t number = 0; number < 20; ++number) {
        EXPECT_TRUE(queue->wait_for(std::chrono::seconds(10)));
        Gil::take(nullptr);
        EXPECT_EQ(queue->pop()->model_version, number);
        Gil::give();
    }
    sender.join();
    UnlockedWait::set_lock(nullptr);
}

TEST(ResponseQueueTest, TheReaderIsWhoeverAskedLast) {
    const auto queue = make_ref<ResponseQueue>(ResponseQueue::Bound{1, {}});
    std::atomic<bool> go{false};
    std::thread reader([&] {
        EXPECT_FALSE(queue->wait_for(std::chrono::milliseconds(1)));
        go = true;
        for (std::int64_t number = 0; number < 3; ++number) {
            EXPECT_TRUE(queue->wait_for(std::chrono::seconds(10)));
            const auto response = queue->pop();
            EXPECT_EQ(response->model_version, number);
            EXPECT_FALSE(response->error);
        }
    });
    EXPECT_TRUE(eventually([&] { return go.load(); }));
    for (std::int64_t number = 0; number < 3; ++number) {
        EXPECT_TRUE(queue->push(numbered(number)));
    }
    reader.join();
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
