// What a foreign front end may do with a server, through the functions that the forwarder library passes its calls on
// to.
#include "core/front_end.h"

#include <array>
#include <atomic>
#include <string>

#include "core/front_end_functions.h"
#include "core/requests.h"
#include "core/response_allocator.h"

namespace triton_inprocess::testing {
namespace {

/// The message of an error, which is deleted; empty without one.
std::string told(TRITONSERVER_Error* error) {
    try {
        check(error);
    } catch (const Error& thrown) {
        return thrown.message();
    }
    return "";
}

/// A front end, which knows nothing but the handle and the functions.
class Client {
  public:
    Client(const FunctionTable& table, TRITONSERVER_Server* server) : functions(table), handle(server) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() {
        if (request != nullptr) {
            ignore(functions.TRITONSERVER_InferenceRequestDelete(request));
        }
    }

    std::string make(const char* model = "identity") {
        const std::string error = told(functions.TRITONSERVER_InferenceRequestNew(&request, handle, model, -1));
        if (error.empty()) {
            const std::array<std::int64_t, 1> shape = {2};
            check(functions.TRITONSERVER_InferenceRequestAddInput(request, "INPUT0", TRITONSERVER_TYPE_FP32,
                                                                  shape.data(), shape.size()));
            check(functions.TRITONSERVER_InferenceRequestAppendInputData(request, "INPUT0", data_.data(), sizeof(data_),
                                                                         TRITONSERVER_MEMORY_CPU, 0));
            check(functions.TRITONSERVER_InferenceRequestSetReleaseCallback(request, on_release, this));
            check(functions.TRITONSERVER_InferenceRequestSetResponseCallback(request, ResponseAllocator::get(), nullptr,
                                                                             on_response, this));
        }
        return error;
    }

    std::string send() {
        outstanding = 2;
        const std::string error = told(functions.TRITONSERVER_ServerInferAsync(handle, request, nullptr));
        if (!error.empty()) {
            outstanding = 0;
        }
        return error;
    }

    const FunctionTable& functions;
    TRITONSERVER_Server* const handle;
    TRITONSERVER_InferenceRequest* request = nullptr;
    std::atomic<int> outstanding{0};
    bool deletes_when_released = false;

  private:
    static void on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) {
        auto* const self = static_cast<Client*>(user);
        if ((flags & TRITONSERVER_REQUEST_RELEASE_ALL) == 0) {
            return;
        }
        if (self->deletes_when_released) {
            self->request = nullptr;
            ignore(self->functions.TRITONSERVER_InferenceRequestDelete(request));
        }
        --self->outstanding;
    }

    static void on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) {
        auto* const self = static_cast<Client*>(user);
        if (response != nullptr) {
            ignore(self->functions.TRITONSERVER_InferenceResponseDelete(response));
        }
        if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) {
            --self->outstanding;
        }
    }

    std::array<float, 2> data_ = {1, 2};
};

class FrontEndTest : public RunningServerTest {
  protected:
    void SetUp() override {
        RunningServerTest::SetUp();
        functions = front_end_functions();
    }

    void TearDown() override {
        if (front_end) {
            front_end->forget();
            front_end = nullptr;
        }
        RunningServerTest::TearDown();
    }

    void open(const FrontEnd::Access& access) { front_end = FrontEnd::open(server->state(), access); }

    static FrontEnd::Access many() {
        FrontEnd::Access access;
        access.max_in_flight = 100;
        return access;
    }

    FunctionTable functions = {};
    Ref<FrontEnd> front_end;
};

TEST_F(FrontEndTest, ARequestIsCountedUntilItIsDeletedAndAnswered) {
    open(many());
    const auto idle = server->state()->use_count();
    {
        Client client(functions, front_end->handle());
        EXPECT_EQ(client.make(), "");
        EXPECT_EQ(front_end->in_flight(), 1);
        EXPECT_EQ(server->state()->use_count(), idle + 1);
        EXPECT_EQ(client.send(), "");
        EXPECT_TRUE(eventually([&] { return client.outstanding == 0; }));
        EXPECT_EQ(front_end->in_flight(), 1) << "it is not deleted yet";
    }
    EXPECT_TRUE(eventually([&] { return front_end->in_flight() == 0; }));
    EXPECT_EQ(server->state()->use_count(), idle);
    Client deleting(functions, front_end->handle());
    deleting.deletes_when_released = true;
    EXPECT_EQ(deleting.make(), "");
    EXPECT_EQ(deleting.send(), "");
    EXPECT_TRUE(eventually([&] { return deleting.outstanding == 0 && front_end->in_flight() == 0; }));
}

TEST_F(FrontEndTest, AClosedOneAnswersWhatIsInFlightAndTakesNothing) {
    open(many());
    fake().delay(50);
    Client first(functions, front_end->handle());
    first.deletes_when_released = true;
    EXPECT_EQ(first.make(), "");
    Client second(functions, front_end->handle());
    EXPECT_EQ(second.make(), "");
    EXPECT_EQ(first.send(), "");
    front_end->close();
    Client third(functions, front_end->handle());
    EXPECT_EQ(third.make(), "the endpoint is being closed");
    EXPECT_EQ(third.request, nullptr);
    EXPECT_EQ(second.send(), "") << "it was taken before";
    EXPECT_TRUE(eventually([&] { return first.outstanding == 0 && second.outstanding == 0; }));
    EXPECT_TRUE(eventually([&] { return front_end->in_flight() == 1; })) << "the second is not deleted";
    bool live = false;
    EXPECT_EQ(told(functions.TRITONSERVER_ServerIsLive(front_end->handle(), &live)), "");
    EXPECT_TRUE(live);
}

TEST_F(FrontEndTest, SoManyAtOnceAndNoMore) {
    FrontEnd::Access two;
    two.max_in_flight = 2;
    open(two);
    Client first(functions, front_end->handle());
    Client third(functions, front_end->handle());
    EXPECT_EQ(first.make(), "");
    {
        Client second(functions, front_end->handle());
        EXPECT_EQ(second.make(), "");
        EXPECT_EQ(third.make(), "2 requests are in flight, which is the most allowed");
    }
    EXPECT_EQ(third.make(), "") << "there is room again";
}

TEST_F(FrontEndTest, WhatFailsIsNotInFlight) {
    open(many());
    Client client(functions, front_end->handle());
    EXPECT_NE(client.make("no such model"), "");
    EXPECT_EQ(front_end->in_flight(), 0);
    EXPECT_EQ(client.make(), "");
    fake().fail("TRITONSERVER_ServerInferAsync", 1, 1, TRITONSERVER_ERROR_INTERNAL, "as told");
    EXPECT_EQ(client.send(), "as told");
    EXPECT_EQ(front_end->in_flight(), 1);
    EXPECT_EQ(client.send(), "") << "it can be sent again";
    EXPECT_TRUE(eventually([&] { return client.outstanding == 0; }));
}

TEST_F(FrontEndTest, ModelControlIsOffUntilItIsSwitchedOn) {
    open(many());
    const auto load = [&] { return told(functions.TRITONSERVER_ServerLoadModel(front_end->handle(), "identity")); };
    const auto upload = [&] {
        const Parameter config("config", std::string("{}"));
        const TRITONSERVER_Parameter* given = config.get();
        return told(functions.TRITONSERVER_ServerLoadModelWithParameters(front_end->handle(), "identity", &given, 1));
    };
    const std::string refused =
        "loading and unloading models is switched off; allow_model_control=True of Server.serve switches it on";
    EXPECT_EQ(load(), refused);
    EXPECT_EQ(upload(), refused);
    EXPECT_EQ(told(functions.TRITONSERVER_ServerUnloadModel(front_end->handle(), "identity")), refused);
    EXPECT_EQ(told(functions.TRITONSERVER_ServerUnloadModelAndDependents(front_end->handle(), "identity")), refused);
    front_end->forget();
    FrontEnd::Access control = many();
    control.model_control = true;
    open(control);
    const auto changes = server->state()->model_changes();
    EXPECT_EQ(load(), "");
    EXPECT_EQ(server->state()->model_changes(), changes + 1);
    EXPECT_EQ(upload(),
              "bringing a configuration or files along is switched off; allow_model_upload=True of Server.serve "
              "switches it on");
    front_end->forget();
    control.model_upload = true;
    open(control);
    EXPECT_EQ(upload(), "");
}

TEST_F(FrontEndTest, TheServerIsNotItsOwn) {
    open(many());
    EXPECT_EQ(told(functions.TRITONSERVER_ServerStop(front_end->handle())), "a front end cannot do this to a server");
    EXPECT_EQ(told(functions.TRITONSERVER_ServerDelete(front_end->handle())), "a front end cannot do this to a server");
    EXPECT_TRUE(server->is_live());
}

TEST_F(FrontEndTest, TheLogIsTheProcesss) {
    open(many());
    const auto verbose = [&] { return told(functions.TRITONSERVER_ServerOptionsSetLogVerbose(nullptr, 0)); };
    EXPECT_EQ(verbose(),
              "changing what is logged is switched off; allow_log_settings=True of Server.serve switches it on");
    EXPECT_EQ(told(functions.TRITONSERVER_ServerOptionsSetLogFile(nullptr, "/tmp/x")),
              "the file of the log cannot be changed over the network");
    const ServerOptions options;
    EXPECT_EQ(told(functions.TRITONSERVER_ServerOptionsSetLogVerbose(options.get(), 0)), "") << "that of a server";
}

TEST_F(FrontEndTest, OthersPassThrough) {
    TRITONSERVER_Server* const real = server->state()->get();
    bool ready = false;
    EXPECT_EQ(told(functions.TRITONSERVER_ServerIsReady(real, &ready)), "");
    EXPECT_TRUE(ready);
    EXPECT_EQ(told(functions.TRITONSERVER_ServerUnloadModel(real, "identity")), "");
    EXPECT_EQ(told(functions.TRITONSERVER_ServerLoadModel(real, "identity")), "");
    Client client(functions, real);
    EXPECT_EQ(client.make(), "");
    EXPECT_EQ(client.send(), "");
    EXPECT_TRUE(eventually([&] { return client.outstanding == 0; }));
}

TEST_F(FrontEndTest, AStoppedServerAnswersNothing) {
    open(many());
    server->stop();
    bool live = false;
    EXPECT_EQ(told(functions.TRITONSERVER_ServerIsLive(front_end->handle(), &live)), "the server is stopped");
    Client client(functions, front_end->handle());
    EXPECT_NE(client.make(), "");
    EXPECT_EQ(front_end->in_flight(), 0);
}

}  // namespace
}  // namespace triton_inprocess::testing
