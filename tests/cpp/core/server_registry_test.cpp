// C servers are deleted all together, when that is safe.
#include "core/server_registry.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

using ServerRegistryTest = CoreTest;

TEST_F(ServerRegistryTest, NoneIsDeletedWhileAnotherRuns) {
    const auto first = start_server();
    const auto second = start_server();
    first->stop();
    EXPECT_EQ(fake().live("Server"), 2U);
    EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 2U);
    EXPECT_TRUE(second->is_live());
    EXPECT_TRUE(receive(submit(*make_request(*second, "identity", RequestBlock::Use::once))));
    second->stop();
    EXPECT_EQ(fake().live("Server"), 0U);
    EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 0U);
}

TEST_F(ServerRegistryTest, NoneIsDeletedWhileItIsUsed) {
    const auto server = start_server();
    {
        const ServerUse use(server->state());
        server->stop();
        EXPECT_EQ(fake().live("Server"), 1U);
        EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 1U);
        EXPECT_EQ(error_of([&] { server->state()->require_running(); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    }
    EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 0U);
}

TEST_F(ServerRegistryTest, AllThatNobodyStopsAreStopped) {
    const auto first = start_server();
    const auto second = start_server();
    const auto third = start_server();
    first->stop();
    // Whoever has begun to stop it goes on.
    second->state()->stop_accepting(std::chrono::steady_clock::now());
    ServerRegistry::instance().stop_all();
    EXPECT_TRUE(second->state()->running());
    EXPECT_FALSE(third->state()->running());
    second->stop();
    EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 0U);
}

// In a child: what is left behind stays until the process ends.
[[noreturn]] void stop_all_where_one_stop_fails() {
    const auto first = start_server();
    const auto second = start_server();
    fake().fail("TRITONSERVER_ServerStop", 1, 1, TRITONSERVER_ERROR_INTERNAL, "as told");
    ServerRegistry::instance().stop_all();
    const bool running = first->state()->running() || second->state()->running();
    _exit(!running && ServerRegistry::instance().delete_stopped() == 2 ? 0 : 1);
}

TEST_F(ServerRegistryTest, OneThatCannotBeStoppedIsLeftBehind) {
    EXPECT_EXIT(stop_all_where_one_stop_fails(), ::testing::ExitedWithCode(0), "");
}

TEST_F(ServerRegistryTest, OneThatDoesNotStartLeavesNothing) {
    ASSERT_TRUE(fake().fail("TRITONSERVER_ServerNew", 1, 1, TRITONSERVER_ERROR_INTERNAL, "as told"));
    EXPECT_EQ(error_of([] { start_server(); }).message(), "as told");
    EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 0U);
}

TEST_F(ServerRegistryTest, ServersComeAndGoOnManyThreads) {
    std::vector<std::thread> threads;
    for (int index = 0; index < 4; ++index) {
        threads.emplace_back([] {
            for (int repetition = 0; repetition < 10; ++repetition) {
                const auto server = start_server();
                EXPECT_TRUE(server->is_live());
                EXPECT_TRUE(receive(submit(*make_request(*server, "identity", RequestBlock::Use::once))));
                server->stop();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(ServerRegistry::instance().delete_stopped(), 0U);
}

TEST_F(ServerRegistryTest, AForkedChildOnlyGetsErrors) {
    const auto server = start_server();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int status = 1;
        try {
            server->is_live();
        } catch (const Error& error) {
            status = error.code() == TRITONSERVER_ERROR_UNAVAILABLE ? 0 : 2;
        }
        server->stop();  // does nothing: the server is the parent's
        try {
            start_server();
            status = 3;
        } catch (const Error& error) {
            status = error.code() == TRITONSERVER_ERROR_UNAVAILABLE ? status : 4;
        }
        _exit(status);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(server->is_live());
    server->stop();
}

}  // namespace
}  // namespace triton_inprocess::testing
