// Many threads at once, for a sanitizer to look at: what they do is right however they meet.
#include <atomic>
#include <thread>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

using ThreadsTest = CoreTest;
using Use = RequestBlock::Use;

template <typename Body>
void on_threads(int count, const Body& body) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    for (int index = 0; index < count; ++index) {
        threads.emplace_back([&body, index] { body(index); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_F(ThreadsTest, EachSendsItsOwn) {
    const auto server = start_server();
    for (const std::int32_t order : {FAKE_TRITON_RESPONSE_FIRST, FAKE_TRITON_RELEASE_FIRST, FAKE_TRITON_TOGETHER}) {
        fake().order(order);
        on_threads(4, [&](int index) {
            const auto reusable = make_request(*server, "identity", Use::reusable, {static_cast<float>(index)});
            for (int repetition = 0; repetition < 100; ++repetition) {
                const auto response = receive(submit(*reusable));
                ASSERT_TRUE(response);
                EXPECT_EQ(values_of(response->outputs.at(0).tensor), std::vector<float>{static_cast<float>(index)});
                EXPECT_TRUE(receive(submit(*make_request(*server, "decoupled", Use::once))));
            }
        });
    }
    server->stop();
}

TEST_F(ThreadsTest, OneRequestIsSentByOneThreadAtATime) {
    const auto server = start_server();
    fake().order(FAKE_TRITON_TOGETHER);
    std::atomic<int> sent{0};
    {
        const auto request = make_request(*server);
        on_threads(4, [&](int) {
            for (int repetition = 0; repetition < 50; ++repetition) {
                try {
                    const auto queue = submit(*request);
                    ++sent;
                    EXPECT_TRUE(receive(queue));
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE);
                }
            }
        });
    }
    EXPECT_GT(sent, 0);
    server->stop();
}

TEST_F(ThreadsTest, CancelledAndChangedWhileItCompletes) {
    const auto server = start_server();
    fake().order(FAKE_TRITON_TOGETHER);
    {
        const auto request = make_request(*server);
        std::atomic<bool> ended{false};
        std::thread meddler([&] {
            while (!ended) {
                try {
                    request->cancel();
                } catch (const Error&) {  // the request may be idle
                }
                try {
                    request->set_id("x");
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE);
                }
            }
        });
        for (int repetition = 0; repetition < 200; ++repetition) {
            EXPECT_TRUE(receive(submit(*request)));
        }
        ended = true;
        meddler.join();
    }
    server->stop();
}

TEST_F(ThreadsTest, DroppedWhileItCompletes) {
    const auto server = start_server();
    for (const std::int32_t order : {FAKE_TRITON_RELEASE_FIRST, FAKE_TRITON_TOGETHER}) {
        fake().order(order);
        on_threads(3, [&](int) {
            for (int repetition = 0; repetition < 100; ++repetition) {
                for (const Use use : {Use::once, Use::reusable}) {
                    auto request = make_request(*server, "decoupled", use);
                    const auto queue = submit(*request);
                    request.reset();
                    if (repetition % 2 == 0) {
                        EXPECT_TRUE(receive(queue));
                    }
                }
            }
        });
    }
    server->stop();
}

TEST_F(ThreadsTest, StoppedWhileRequestsAreSent) {
    for (int repetition = 0; repetition < 10; ++repetition) {
        const auto server = start_server();
        std::atomic<int> answered{0};
        std::vector<std::thread> threads;
        for (int index = 0; index < 3; ++index) {
            threads.emplace_back([&, index] {
                const Use use = index % 2 == 0 ? Use::once : Use::reusable;
                try {
                    for (;;) {
                        const auto request = make_request(*server, "identity", use);
                        EXPECT_TRUE(receive(submit(*request)));
                        ++answered;
                    }
                } catch (const Error& error) {
                    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE) << error.message();
                }
            });
        }
        EXPECT_TRUE(eventually([&] { return answered > 20; }));
        server->stop();
        for (std::thread& thread : threads) {
            thread.join();
        }
        EXPECT_TRUE(eventually([] { return fake().live("Server") == 0; }));
    }
}

TEST_F(ThreadsTest, ModelsAreLoadedWhileTheServerStops) {
    for (int repetition = 0; repetition < 10; ++repetition) {
        const auto server = start_server();
        std::thread loader([&] {
            try {
                for (;;) {
                    server->load_model("identity");
                    server->unload_model("identity");
                }
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNAVAILABLE);
            }
        });
        server->stop();
        loader.join();
    }
}

}  // namespace
}  // namespace triton_inprocess::testing
