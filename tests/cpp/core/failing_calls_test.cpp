// Every function of the C API fails once, at each of its first calls, on the whole way of a server and a request: an
// error is thrown or comes as a response, nothing is leaked, nobody waits for ever, and no rule of ownership is broken.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

using Use = RequestBlock::Use;

/// Not these: an object that cannot be deleted is leaked, and a server that cannot be stopped is left behind.
bool may_fail(const std::string& function) {
    const std::string suffix = "Delete";
    const bool deletes = function.size() > suffix.size() &&
                         function.compare(function.size() - suffix.size(), suffix.size(), suffix) == 0;
    return !deletes && function != "TRITONSERVER_ServerStop";
}

void send(const Server& server, const std::string& model, Use use) {
    const auto request = make_request(server, model, use);
    request->set_id("id");
    request->set_flags(1);
    request->set_correlation_id(1);
    request->set_correlation_id("one");
    request->set_priority(1);
    request->set_priority(std::uint64_t{1} << 40);
    request->set_timeout_microseconds(1);
    request->set_parameter("bytes", false);
    request->set_parameter("int", std::int64_t{1});
    request->set_parameter("double", 1.0);
    request->set_parameter("string", std::string("text"));
    request->add_input("INPUT1", floats({1}));
    request->remove_input("INPUT1");
    request->add_requested_output("OUTPUT0");
    const auto queue = submit(*request);
    for (bool final = false; !final;) {
        const auto response = receive(queue);
        ASSERT_TRUE(response);
        final = response->final;
    }
    request->cancel();
}

void use_everything(const Server& server) {
    server.is_live();
    server.is_ready();
    server.model_is_ready("identity", -1);
    server.model_batch_properties("identity", -1);
    server.model_transaction_properties("identity", -1);
    server.metadata();
    server.model_metadata("identity", -1);
    server.model_statistics("identity", -1);
    server.model_config("identity", -1, 1);
    server.model_index(0);
    server.metrics().formatted(TRITONSERVER_METRIC_PROMETHEUS);
}

/// Does as much as the failing call allows; every failure must be an Error.
void live(Use use) {
    const auto attempt = [](const auto& action) {
        try {
            action();
        } catch (const Error& error) {
            EXPECT_EQ(error.message(), "as told");
        }
    };
    std::unique_ptr<Server> server;
    attempt([&] { server = start_server(); });
    if (!server) {
        return;
    }
    attempt([&] { use_everything(*server); });
    attempt([&] {
        const Parameter mapping("a", std::string("b"));
        server->register_model_repository("/tmp", {&mapping});
        server->unregister_model_repository("/tmp");
        server->load_model("labels");
        server->unload_model("labels");
        server->unload_model_and_dependents("cached");
        server->set_exit_timeout(10);
    });
    for (const char* model : {"decoupled", "parameters", "error"}) {
        attempt([&] { send(*server, model, use); });
    }
    server->stop();
    EXPECT_EQ(fake().live("Server"), 0U);
}

using FailingCallsTest = CoreTest;

TEST_F(FailingCallsTest, NothingBreaksOrLeaks) {
    constexpr const char* functions[] = {
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) #name,
#include "abi/functions.def"
#undef TRITON_FUNCTION
    };
    int tried = 0;
    for (const Use use : {Use::once, Use::reusable}) {
        live(use);  // what is not called at all need not be made to fail
        std::vector<std::pair<const char*, std::uint64_t>> called;
        for (const char* function : functions) {
            const std::int64_t calls = fake().calls(function);
            for (std::int64_t nth = 1; nth <= std::min<std::int64_t>(calls, 3) && may_fail(function); ++nth) {
                called.emplace_back(function, nth);
            }
        }
        for (const auto& [function, nth] : called) {
            fake().reset();
            if (!fake().fail(function, nth, 1, TRITONSERVER_ERROR_INTERNAL, "as told")) {
                continue;
            }
            SCOPED_TRACE(std::string(function) + ", call " + std::to_string(nth));
            live(use);
            ASSERT_FALSE(HasFailure());
            ++tried;
        }
        fake().reset();
    }
    EXPECT_GT(tried, 100);
}

}  // namespace
}  // namespace triton_inprocess::testing
