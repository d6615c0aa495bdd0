// Servers and requests as our core makes them. Whatever changes in how a request is sent is to be told here alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/inference_request.h"
#include "core/server.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {

constexpr auto long_time = std::chrono::milliseconds(10'000);

/// Starts a server of the fake's models in explicit control mode.
inline std::unique_ptr<Server> start_server(unsigned exit_timeout = 10) {
    const ServerOptions options;
    check(api().TRITONSERVER_ServerOptionsSetModelRepositoryPath(options.get(), "/"));
    check(api().TRITONSERVER_ServerOptionsSetModelControlMode(options.get(), TRITONSERVER_MODEL_CONTROL_EXPLICIT));
    check(api().TRITONSERVER_ServerOptionsSetExitTimeout(options.get(), exit_timeout));
    return std::make_unique<Server>(options);
}

/// An input's memory; how many are alive is counted.
class Floats final : public Buffer {
  public:
    explicit Floats(std::vector<float> values)
        : Buffer(nullptr, values.size() * sizeof(float), TRITONSERVER_MEMORY_CPU, 0, true), values_(std::move(values)) {
        data_ = values_.data();
        ++alive();
    }
    ~Floats() override { --alive(); }

    static std::atomic<int>& alive() {
        static std::atomic<int> count{0};
        return count;
    }

  private:
    std::vector<float> values_;
};

inline Tensor floats(std::vector<float> values) {
    const auto size = static_cast<std::int64_t>(values.size());
    return Tensor(TRITONSERVER_TYPE_FP32, {size}, make_ref<Floats>(std::move(values)));
}

inline std::vector<float> values_of(const Tensor& tensor) {
    const auto* const begin = static_cast<const float*>(tensor.buffer()->data());
    return {begin, begin + tensor.element_count()};
}

/// A request with one input.
inline std::unique_ptr<InferenceRequest> make_request(const Server& server, const std::string& model = "identity",
                                                      RequestBlock::Use use = RequestBlock::Use::reusable,
                                                      std::vector<float> values = {1, 2, 3}) {
    auto request = std::make_unique<InferenceRequest>(server.state(), model, -1, use);
    request->add_input("INPUT0", floats(std::move(values)));
    return request;
}

inline void submit(InferenceRequest& request, const Ref<ResponseQueue>& queue) {
    request.submit(queue);
}

/// Sends the request; its responses come to the returned queue.
inline Ref<ResponseQueue> submit(InferenceRequest& request) {
    const Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
    submit(request, queue);
    return queue;
}

/// The next response; a test failure and null when none comes.
inline std::unique_ptr<InferenceResponse> receive(const Ref<ResponseQueue>& queue) {
    EXPECT_TRUE(queue->wait_for(long_time)) << "no response came";
    return queue->pop();
}

/// A test at whose end nothing may be left: no C object, no input, no server.
class CoreTest : public RuntimeTest {
  protected:
    void TearDown() override {
        fake().reset();
        for (const char* type : {"Server", "InferenceRequest", "InferenceResponse", "InferenceTrace", "Error",
                                 "Message", "Metrics", "Parameter", "ServerOptions"}) {
            EXPECT_TRUE(eventually([&] { return fake().live(type) == 0; })) << fake().live(type) << " " << type;
        }
        EXPECT_TRUE(eventually([] { return Floats::alive() == 0; })) << Floats::alive() << " inputs";
    }
};

/// One with a server.
class RunningServerTest : public CoreTest {
  protected:
    void SetUp() override {
        CoreTest::SetUp();
        server = start_server();
    }
    void TearDown() override {
        if (server) {
            server->stop();
        }
        CoreTest::TearDown();
    }

    std::unique_ptr<Server> server;
};

}  // namespace triton_inprocess::testing
