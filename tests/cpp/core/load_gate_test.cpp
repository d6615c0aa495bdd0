// A stop waits for loads in progress, and lets none in any more.
#include "core/load_gate.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "core/requests.h"
#include "core/server_registry.h"

namespace triton_inprocess::testing {
namespace {

using Clock = std::chrono::steady_clock;
using LoadGateTest = CoreTest;

TEST_F(LoadGateTest, IsPassedUntilItIsClosed) {
    LoadGate gate;
    {
        const LoadGate::Pass load(gate);
    }
    EXPECT_TRUE(gate.close(Clock::now()));
    EXPECT_EQ(error_of([&] { const LoadGate::Pass load(gate); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_TRUE(gate.close(LoadGate::Deadline::max()));
}

TEST_F(LoadGateTest, ClosesWhenTheLastLoadHasEnded) {
    LoadGate gate;
    auto first = std::make_unique<LoadGate::Pass>(gate);
    auto second = std::make_unique<LoadGate::Pass>(gate);
    EXPECT_FALSE(gate.close(Clock::now() + std::chrono::milliseconds(10)));
    std::thread closing([&] { EXPECT_TRUE(gate.close(LoadGate::Deadline::max())); });
    first.reset();
    EXPECT_FALSE(gate.close(Clock::now()));
    second.reset();
    closing.join();
}

TEST_F(LoadGateTest, ManyPassWhileItCloses) {
    LoadGate gate;
    std::atomic<int> inside{0};
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([&] {
            try {
                for (;;) {
                    const LoadGate::Pass load(gate);
                    ++inside;
                    std::this_thread::yield();
                    --inside;
                }
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE);
            }
        });
    }
    EXPECT_TRUE(eventually([&] { return inside > 0; }));
    EXPECT_TRUE(gate.close(LoadGate::Deadline::max()));
    EXPECT_EQ(inside, 0);
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// In a child: what is left behind stays until the process ends.
[[noreturn]] void exit_of_a_child_with(bool good) {
    _exit(good ? 0 : 1);
}

bool left_behind(Server& server) {
    return error_of([&] { server.stop(); }).code() == TRITONSERVER_ERROR_UNAVAILABLE &&
           error_of([&] { server.is_live(); }).code() == TRITONSERVER_ERROR_UNAVAILABLE &&
           fake().calls("TRITONSERVER_ServerStop") == 0 && ServerRegistry::instance().delete_stopped() == 1;
}

void stop_while_a_model_is_loaded() {
    const auto server = start_server();
    bool told = false;
    {
        const LoadGate::Pass load(server->state()->loading());
        const Error error = error_of([&] { server->stop(Clock::now() + std::chrono::milliseconds(10)); });
        told = error.code() == TRITONSERVER_ERROR_UNAVAILABLE && error.message() == "a model is still being loaded";
    }
    exit_of_a_child_with(told && left_behind(*server));
}

void give_up() {
    const auto server = start_server();
    server->state()->give_up();
    exit_of_a_child_with(left_behind(*server));
}

TEST_F(LoadGateTest, AServerThatStillLoadsIsLeftBehind) {
    EXPECT_EXIT(stop_while_a_model_is_loaded(), ::testing::ExitedWithCode(0), "");
}

TEST_F(LoadGateTest, AServerThatIsGivenUpIsLeftBehind) {
    EXPECT_EXIT(give_up(), ::testing::ExitedWithCode(0), "");
}

TEST_F(LoadGateTest, AStopWaitsForALoad) {
    const auto server = start_server();
    auto load = std::make_unique<LoadGate::Pass>(server->state()->loading());
    std::thread stopping([&] { server->stop(); });
    EXPECT_TRUE(eventually([&] {
        try {
            const LoadGate::Pass refused(server->state()->loading());
            return false;
        } catch (const Error&) {
            return true;
        }
    }));
    EXPECT_EQ(fake().calls("TRITONSERVER_ServerStop"), 0);
    load.reset();
    stopping.join();
    EXPECT_EQ(fake().calls("TRITONSERVER_ServerStop"), 1);
}

}  // namespace
}  // namespace triton_inprocess::testing
