// What a server says of itself and of its models.
#include "core/server.h"

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

class ServerTest : public CoreTest {
  protected:
    void SetUp() override {
        CoreTest::SetUp();
        server = start_server();
    }
    void TearDown() override {
        server->stop();
        CoreTest::TearDown();
    }

    std::unique_ptr<Server> server;
};

TEST_F(ServerTest, Asks) {
    EXPECT_TRUE(server->is_live());
    EXPECT_TRUE(server->is_ready());
    EXPECT_TRUE(server->model_is_ready("identity", -1));
    EXPECT_FALSE(server->model_is_ready("identity", 2));
    EXPECT_EQ(server->model_transaction_properties("decoupled", -1).flags, TRITONSERVER_TXN_DECOUPLED);
    EXPECT_EQ(server->model_batch_properties("identity", 1).flags, TRITONSERVER_BATCH_UNKNOWN);
    EXPECT_TRUE(contains(server->metadata().to_json(), "0.0.0-fake"));
    EXPECT_TRUE(contains(server->model_metadata("identity", -1).to_json(), "INPUT0"));
    EXPECT_TRUE(contains(server->model_statistics("identity", -1).to_json(), "inference_count"));
    EXPECT_TRUE(contains(server->model_config("identity", -1, 1).to_json(), "max_batch_size"));
    EXPECT_TRUE(contains(server->model_index(0).to_json(), "decoupled"));
    EXPECT_EQ(error_of([&] { server->model_config("identity", -1, 2); }).code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_EQ(error_of([&] { server->model_metadata("unknown", -1); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
    EXPECT_EQ(error_of([&] { make_request(*server, "unknown"); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
}

TEST_F(ServerTest, ControlsModels) {
    server->unload_model("identity");
    EXPECT_FALSE(server->model_is_ready("identity", -1));
    EXPECT_EQ(error_of([&] { make_request(*server); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    server->load_model("identity");
    EXPECT_TRUE(server->model_is_ready("identity", -1));
    EXPECT_EQ(error_of([&] { server->load_model("unknown"); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
    EXPECT_EQ(error_of([&] { server->poll_model_repository(); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

TEST_F(ServerTest, RegistersRepositories) {
    const Parameter mapping("folder", std::string("name"));
    server->register_model_repository("/tmp", {&mapping});
    EXPECT_EQ(error_of([&] { server->register_model_repository("/tmp", {}); }).code(),
              TRITONSERVER_ERROR_ALREADY_EXISTS);
    server->unregister_model_repository("/tmp");
}

TEST_F(ServerTest, IsUnavailableOnceStopped) {
    server->stop();
    server->stop();
    EXPECT_EQ(error_of([&] { server->is_live(); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_EQ(error_of([&] { server->load_model("identity"); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

}  // namespace
}  // namespace triton_inprocess::testing
