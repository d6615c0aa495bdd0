// What a record keeps of a tree of traces, and when it is done.
#include "core/trace_record.h"

#include <algorithm>
#include <thread>

#include "core/requests.h"
#include "core/trace_queue.h"

namespace triton_inprocess::testing {
namespace {

constexpr std::chrono::milliseconds soon(10'000);

class TraceRecordTest : public CoreTest {
  protected:
    void SetUp() override {
        CoreTest::SetUp();
        server = start_server();
    }
    void TearDown() override {
        server->stop();
        server.reset();
        CoreTest::TearDown();
    }

    /// Sends a request with the record and returns the queue of its responses.
    Ref<ResponseQueue> send(const Ref<TraceRecord>& record, const std::string& model = "identity",
                            const Ref<InferenceTrace>& child = nullptr) {
        const auto request = make_request(*server, model);
        request->set_id("mine");
        if (record) {
            request->set_trace(record, child);
        }
        Ref<ResponseQueue> queue = make_ref<ResponseQueue>();
        request->submit(queue, nullptr, model, -1);
        return queue;
    }

    std::unique_ptr<Server> server;
};

TEST_F(TraceRecordTest, KeepsWhatWasTold) {
    const Ref<TraceRecord> record = make_ref<TraceRecord>(true);
    EXPECT_EQ(record->snapshot().root_id, 0U);
    EXPECT_FALSE(record->done());
    send(record)->wait_for(soon);
    ASSERT_TRUE(record->wait_for(soon));
    const TraceRecord::Snapshot told = record->snapshot();
    EXPECT_TRUE(told.done);
    ASSERT_EQ(told.nodes.size(), 1U);
    const TraceRecord::Node& root = told.nodes.front();
    EXPECT_EQ(root.id, told.root_id);
    EXPECT_EQ(root.model_name, "identity");
    EXPECT_EQ(root.request_id, "mine");
    EXPECT_FALSE(root.error);
    EXPECT_EQ(root.activities.front().activity, TRITONSERVER_TRACE_REQUEST_START);
    EXPECT_TRUE(std::any_of(root.activities.begin(), root.activities.end(),
                            [](const auto& each) { return each.activity == TRITONSERVER_TRACE_REQUEST_END; }));
    ASSERT_FALSE(root.tensors.empty());
    EXPECT_EQ(root.tensors.front().copy->byte_size(), root.tensors.front().byte_size);
}

TEST_F(TraceRecordTest, IsForOneRequest) {
    const Ref<TraceRecord> record = make_ref<TraceRecord>(false);
    send(record)->wait_for(soon);
    EXPECT_EQ(error_of([&] { send(record); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    ASSERT_TRUE(record->wait_for(soon));
    EXPECT_EQ(error_of([&] { send(record); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    EXPECT_FALSE(record->snapshot().nodes.front().error) << "the second one is not what it tells of";
    EXPECT_EQ(error_of([&] { record->spawn_child(); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

TEST_F(TraceRecordTest, TellsOfAFailedSubmission) {
    const Ref<TraceQueue> queue = make_ref<TraceQueue>(5);
    const Ref<TraceRecord> record = make_ref<TraceRecord>(false, queue);
    const auto request = make_request(*server, "identity");
    request->add_input("unknown", TRITONSERVER_TYPE_FP32, {1});
    request->set_trace(record);
    const Error error = error_of([&] { request->submit(make_ref<ResponseQueue>(), nullptr, "identity", 3); });
    ASSERT_TRUE(record->done());
    const TraceRecord::Snapshot told = record->snapshot();
    ASSERT_EQ(told.nodes.size(), 1U);
    EXPECT_EQ(told.nodes.front().error->message(), error.message());
    EXPECT_EQ(told.nodes.front().model_name, "identity");
    EXPECT_TRUE(queue->wait());
    EXPECT_EQ(queue->take().traces.front().get(), record.get());
}

TEST_F(TraceRecordTest, TellsOfASubmissionThatTritonNeverSaw) {
    const Ref<TraceRecord> record = make_ref<TraceRecord>(false);
    const auto request = make_request(*server, "identity");
    request->set_trace(record);
    server->stop();
    EXPECT_EQ(error_of([&] { request->submit(make_ref<ResponseQueue>()); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
}

TEST_F(TraceRecordTest, AChildBelongsToTheTree) {
    const Ref<TraceRecord> record = make_ref<TraceRecord>(false);
    const Ref<InferenceTrace> root = record->begin({"mine", "outer", 1});
    const Ref<InferenceTrace> child = record->spawn_child();
    send(record, "identity", child)->wait_for(soon);
    EXPECT_EQ(error_of([&] { send(record, "identity", child); }).code(), TRITONSERVER_ERROR_UNAVAILABLE);
    ASSERT_TRUE(eventually([&] { return record->snapshot().nodes.size() == 2; }));
    EXPECT_FALSE(record->done());
    record->failed(root, Error(TRITONSERVER_ERROR_INTERNAL, "never sent"));
    ASSERT_TRUE(record->wait_for(soon));
    const TraceRecord::Snapshot told = record->snapshot();
    EXPECT_EQ(told.nodes.back().parent_id, told.root_id);
    EXPECT_FALSE(told.nodes.back().error);
    EXPECT_EQ(told.nodes.front().model_name, "outer");
}

TEST_F(TraceRecordTest, AnEnsembleHasATree) {
    const Ref<TraceRecord> record = make_ref<TraceRecord>(false);
    send(record, "ensemble")->wait_for(soon);
    ASSERT_TRUE(record->wait_for(soon));
    const TraceRecord::Snapshot told = record->snapshot();
    ASSERT_GT(told.nodes.size(), 1U);
    for (const TraceRecord::Node& node : told.nodes) {
        EXPECT_EQ(node.parent_id, node.id == told.root_id ? 0 : told.root_id);
        EXPECT_FALSE(node.model_name.empty());
    }
}

TEST_F(TraceRecordTest, EveryRequestIsTracedWhenTheServerSaysSo) {
    constexpr int senders = 3;
    constexpr int each = 40;
    const Ref<TraceQueue> queue = make_ref<TraceQueue>(senders * each);
    server->state()->trace_with(make_ref<Tracer>(queue, false, 2));
    std::vector<std::thread> threads;
    for (int sender = 0; sender < senders; ++sender) {
        threads.emplace_back([this] {
            for (int request = 0; request < each; ++request) {
                EXPECT_TRUE(send(nullptr)->wait_for(soon));
            }
        });
    }
    std::size_t traces = 0;
    const auto take = [&] {
        for (const Ref<TraceRecord>& record : queue->take().traces) {
            EXPECT_TRUE(record->done());
            ++traces;
        }
    };
    while (traces < 10 && queue->wait()) {
        take();
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    queue->close();
    while (queue->wait()) {
        take();
    }
    EXPECT_EQ(traces, std::size_t{senders} * each / 2);
}

}  // namespace
}  // namespace triton_inprocess::testing
