// Which requests are in flight.
#include "core/request_table.h"

#include <thread>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

using RequestTableTest = CoreTest;

TEST_F(RequestTableTest, FindsWhatIsThereFromManyThreads) {
    const auto server = start_server();
    {
        std::vector<std::thread> threads;
        for (int index = 0; index < 4; ++index) {
            threads.emplace_back([&server] {
                RequestTable& table = RequestTable::instance();
                for (int repetition = 0; repetition < 200; ++repetition) {
                    const auto first = make_request(*server);
                    const auto second = make_request(*server);
                    const TRITONSERVER_InferenceRequest* const key = first->block()->idle().get();
                    const TRITONSERVER_InferenceRequest* const other = second->block()->idle().get();
                    table.insert(key, first->block().get());
                    table.insert(other, second->block().get());
                    EXPECT_EQ(table.find(key).get(), first->block().get());
                    table.erase(key);
                    table.erase(key);
                    EXPECT_FALSE(table.find(key));
                    EXPECT_EQ(table.find(other).get(), second->block().get());
                    table.erase(other);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    EXPECT_FALSE(RequestTable::instance().find(nullptr));
    server->stop();
}

TEST_F(RequestTableTest, TellsWhoseMemoryAnInputIs) {
    const auto server = start_server();
    {
        const auto request = make_request(*server);
        const Tensor second = floats({1, 2});
        request->add_input("INPUT1", second);
        const auto* const begin = static_cast<const char*>(second.buffer()->data());
        EXPECT_EQ(request->block()->owner_of(begin).get(), second.buffer().get());
        EXPECT_EQ(request->block()->owner_of(begin + 7).get(), second.buffer().get());
        EXPECT_FALSE(request->block()->owner_of(begin + 8));
    }
    server->stop();
}

}  // namespace
}  // namespace triton_inprocess::testing
