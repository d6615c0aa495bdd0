// An allocator that asks its request where outputs go: every callback is reached, and what it throws is told.
#include "core/placement_allocator.h"

#include <condition_variable>
#include <mutex>

#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

/// Memory that counts how often it was let go.
class Block final : public Buffer {
  public:
    explicit Block(std::size_t byte_size)
        : Buffer(nullptr, byte_size, TRITONSERVER_MEMORY_CPU, 0, false), bytes_(byte_size) {
        data_ = byte_size != 0 ? bytes_.data() : nullptr;
        ++alive();
    }
    ~Block() override { --alive(); }

    static std::atomic<int>& alive() {
        static std::atomic<int> count{0};
        return count;
    }

  private:
    std::vector<char> bytes_;
};

class Placement final : public RequestObserver, public OutputPlacement {
  public:
    explicit Placement(std::string failing = "") : failing_(std::move(failing)) {}

    void start() override { step("start"); }
    Ref<Buffer> allocate(const char* /*name*/, std::size_t byte_size, Place /*wanted*/) override {
        step("allocate");
        return make_ref<Block>(byte_size);
    }
    Place query(const char* /*name*/, const std::size_t* /*byte_size*/, Place wanted) override {
        step("query");
        return wanted;
    }
    void describe(const char* /*name*/, TRITONSERVER_BufferAttributes* attributes, Buffer& buffer) override {
        step("describe");
        BufferAttributes described(attributes);
        described.set_byte_size(buffer.byte_size());
        described.copy_to(attributes);
    }

    void on_response(std::unique_ptr<InferenceResponse> taken, std::uint32_t /*flags*/) noexcept override {
        const std::scoped_lock guard(mutex_);
        response = std::move(taken);
        ++told_;
        changed_.notify_all();
    }
    void on_release(std::uint32_t /*flags*/) noexcept override {
        const std::scoped_lock guard(mutex_);
        ++told_;
        changed_.notify_all();
    }
    void on_failure() noexcept override {}

    bool wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        return changed_.wait_for(lock, long_time, [&] { return told_ == 2; });
    }

    std::unique_ptr<InferenceResponse> response;
    std::vector<std::string> steps;

  private:
    void step(const std::string& name) {
        steps.push_back(name);
        if (name == failing_) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, name + " fails");
        }
    }

    const std::string failing_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int told_ = 0;
};

class PlacementAllocatorTest : public CoreTest {
  protected:
    Ref<Placement> send(const Ref<Placement>& placement, std::vector<float> values = {1, 2, 3}) {
        PlacementAllocator allocator(true);
        allocator.enable_query();
        allocator.enable_buffer_attributes();
        const auto server = start_server();
        {
            const auto request = make_request(*server, "identity", RequestBlock::Use::reusable, std::move(values));
            RequestBlock::Submission submission;
            submission.observer = placement;
            submission.placement = placement.get();
            submission.allocator = allocator.get();
            request->submit(std::move(submission));
            EXPECT_TRUE(placement->wait());
        }
        server->stop();
        return placement;
    }
};

TEST_F(PlacementAllocatorTest, AsksForEverything) {
    const auto placement = send(make_ref<Placement>());
    ASSERT_FALSE(placement->response->error) << placement->response->error->message();
    EXPECT_EQ(values_of(placement->response->outputs.at(0).tensor), (std::vector<float>{1, 2, 3}));
    for (const char* step : {"start", "allocate", "query", "describe"}) {
        EXPECT_NE(std::find(placement->steps.begin(), placement->steps.end(), step), placement->steps.end()) << step;
    }
    EXPECT_EQ(Block::alive(), 1) << "the response has it";
    placement->response.reset();
    EXPECT_EQ(Block::alive(), 0);
}

TEST_F(PlacementAllocatorTest, ReleasesNothingToo) {
    const auto placement = send(make_ref<Placement>(), {});
    ASSERT_FALSE(placement->response->error) << placement->response->error->message();
    EXPECT_EQ(placement->response->outputs.at(0).tensor.buffer()->data(), nullptr);
    placement->response.reset();
    EXPECT_EQ(Block::alive(), 0);
}

TEST_F(PlacementAllocatorTest, WhatItThrowsFailsTheRequest) {
    for (const char* failing : {"allocate", "describe"}) {
        const auto placement = send(make_ref<Placement>(failing));
        ASSERT_TRUE(placement->response->error) << failing;
        EXPECT_EQ(placement->response->error->message(), std::string(failing) + " fails");
        placement->response.reset();
        EXPECT_EQ(Block::alive(), 0) << failing;
    }
}

}  // namespace
}  // namespace triton_inprocess::testing
