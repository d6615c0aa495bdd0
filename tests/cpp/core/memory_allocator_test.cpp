// Outputs in memory that a user's allocator gives: what is wrong with it is told, and all of it goes back once.
#include "core/memory_allocator.h"

#include <cstdlib>
#include <functional>

#include "core/native_memory_allocator.h"
#include "core/requests.h"

namespace triton_inprocess::testing {
namespace {

/// Memory of any kind, as far as Triton is told: it is the host's.
class Given final : public Buffer {
  public:
    Given(std::size_t byte_size, const MemoryPlace& place, bool read_only)
        : Buffer(nullptr, byte_size, place.memory_type, place.memory_type_id, read_only), bytes_(byte_size) {
        data_ = bytes_.data();
        ++alive();
    }
    ~Given() override { --alive(); }

    static std::atomic<int>& alive() {
        static std::atomic<int> count{0};
        return count;
    }

  private:
    std::vector<char> bytes_;
};

/// An allocator that is one function.
class FunctionAllocator final : public MemoryAllocator {
  public:
    using Function = std::function<Ref<Buffer>(std::size_t, const MemoryPlace&)>;

    explicit FunctionAllocator(Function function) : function_(std::move(function)) {}

    Ref<Buffer> allocate(const char* name, std::size_t byte_size, const MemoryPlace& wanted) override {
        EXPECT_STREQ(name, "OUTPUT0");
        return function_(byte_size, wanted);
    }

  private:
    Function function_;
};

class MemoryAllocatorTest : public CoreTest {
  protected:
    std::unique_ptr<InferenceResponse> ask(Ref<MemoryAllocator> allocator, std::optional<MemoryPlace> place = {}) {
        const auto server = start_server();
        std::unique_ptr<InferenceResponse> response;
        {
            const auto request = make_request(*server, "identity", RequestBlock::Use::once);
            const auto queue = make_ref<ResponseQueue>();
            request->submit(queue, make_ref<RequestOutputs>(std::map<std::string, Tensor>(), place, allocator));
            response = receive(queue);
        }
        server->stop();
        return response;
    }

    std::unique_ptr<InferenceResponse> ask(FunctionAllocator::Function function,
                                           std::optional<MemoryPlace> place = {}) {
        return ask(make_ref<FunctionAllocator>(std::move(function)), place);
    }

    void TearDown() override {
        CoreTest::TearDown();
        EXPECT_EQ(Given::alive(), 0);
    }
};

TEST_F(MemoryAllocatorTest, MayGiveMoreThanIsNeeded) {
    for (const std::size_t extra : {0U, 5U}) {
        auto response = ask([=](std::size_t size, const MemoryPlace& wanted) {
            EXPECT_EQ(wanted.memory_type, TRITONSERVER_MEMORY_CPU);
            return make_ref<Given>(size + extra, wanted, false);
        });
        ASSERT_FALSE(response->error) << response->error->message();
        const Tensor& tensor = response->outputs.at(0).tensor;
        EXPECT_EQ(values_of(tensor), (std::vector<float>{1, 2, 3}));
        EXPECT_EQ(tensor.buffer()->byte_size(), 12U);
        EXPECT_EQ(Given::alive(), 1);
        EXPECT_FALSE(response->python_memory);
        response.reset();
        EXPECT_EQ(Given::alive(), 0);
    }
}

TEST_F(MemoryAllocatorTest, WhatIsWrongIsTold) {
    const MemoryPlace host;
    const MemoryPlace pinned{TRITONSERVER_MEMORY_CPU_PINNED, 0};
    const auto told = [&](const FunctionAllocator::Function& function, std::optional<MemoryPlace> place = {}) {
        const auto response = ask(function, place);
        EXPECT_TRUE(response->error);
        return response->error ? response->error->message() : "";
    };
    EXPECT_EQ(told([&](std::size_t size, auto&) { return make_ref<Given>(size - 1, host, false); }),
              "the memory allocator gave 11 bytes for output 'OUTPUT0', which needs 12 bytes");
    EXPECT_EQ(told([&](std::size_t size, auto&) { return make_ref<Given>(size, host, true); }),
              "the memory allocator gave read-only memory for output 'OUTPUT0', which needs 12 bytes");
    EXPECT_EQ(told([](std::size_t size, auto&) {
                  return make_ref<Given>(size, MemoryPlace{TRITONSERVER_MEMORY_CPU, -1}, false);
              }),
              "the memory allocator gave memory of the memory_type_id -1 for output 'OUTPUT0', which needs 12 bytes");
    EXPECT_EQ(told([&](std::size_t size, auto&) { return make_ref<Given>(size, pinned, false); }, host),
              "the memory allocator gave pinned host memory for output 'OUTPUT0', which needs 12 bytes of host memory");
    EXPECT_EQ(told([](std::size_t, auto&) -> Ref<Buffer> { throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "full"); }),
              "full");
}

TEST_F(MemoryAllocatorTest, IsAskedForThePlaceThatIsWanted) {
    const MemoryPlace pinned{TRITONSERVER_MEMORY_CPU_PINNED, 0};
    const auto response = ask(
        [](std::size_t size, const MemoryPlace& wanted) {
            EXPECT_EQ(wanted.memory_type, TRITONSERVER_MEMORY_CPU_PINNED);
            return make_ref<Given>(size, wanted, false);
        },
        pinned);
    ASSERT_FALSE(response->error) << response->error->message();
    EXPECT_EQ(response->outputs.at(0).tensor.buffer()->memory_type(), TRITONSERVER_MEMORY_CPU_PINNED);
}

/// What the C functions are told, and what they are to answer.
struct Book {
    int given = 0;
    int back = 0;
    bool full = false;
    std::int32_t memory_type = TRITONSERVER_MEMORY_CPU;
    std::int64_t memory_type_id = 0;
};

void* give(void* user, const char* name, std::uint64_t byte_size, std::int32_t* memory_type,
           std::int64_t* memory_type_id) {
    auto& book = *static_cast<Book*>(user);
    EXPECT_STREQ(name, "OUTPUT0");
    EXPECT_EQ(*memory_type, TRITONSERVER_MEMORY_CPU);
    if (book.full) {
        return nullptr;
    }
    ++book.given;
    *memory_type = book.memory_type;
    *memory_type_id = book.memory_type_id;
    return std::malloc(byte_size);
}

void take(void* user, void* data, std::uint64_t byte_size, std::int32_t memory_type, std::int64_t memory_type_id) {
    auto& book = *static_cast<Book*>(user);
    EXPECT_EQ(byte_size, 12U);
    EXPECT_EQ(memory_type, book.memory_type);
    EXPECT_EQ(memory_type_id, book.memory_type_id);
    ++book.back;
    std::free(data);
}

TEST_F(MemoryAllocatorTest, MayBeTwoCFunctions) {
    Book book;
    auto response = ask(make_ref<NativeMemoryAllocator>(give, take, &book, make_ref<Floats>(std::vector<float>{0})));
    ASSERT_FALSE(response->error) << response->error->message();
    EXPECT_EQ(values_of(response->outputs.at(0).tensor), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(Floats::alive(), 1) << "the owner of the functions";
    EXPECT_EQ(book.given, 1);
    EXPECT_EQ(book.back, 0);
    response.reset();
    EXPECT_EQ(book.back, 1);
    EXPECT_EQ(Floats::alive(), 0);
}

TEST_F(MemoryAllocatorTest, MistakesOfCFunctionsAreTold) {
    for (const auto& [memory_type, memory_type_id] : {std::pair(9, 0), std::pair(-1, 0), std::pair(0, -7)}) {
        Book book;
        book.memory_type = memory_type;
        book.memory_type_id = memory_type_id;
        const auto response = ask(make_ref<NativeMemoryAllocator>(give, take, &book, nullptr));
        ASSERT_TRUE(response->error);
        EXPECT_EQ(response->error->message().rfind("the memory allocator gave memory of ", 0), 0U);
        EXPECT_EQ(book.given, 1);
        EXPECT_EQ(book.back, 1);
    }
    Book book;
    book.full = true;
    const auto response = ask(make_ref<NativeMemoryAllocator>(give, take, &book, nullptr));
    ASSERT_TRUE(response->error);
    EXPECT_EQ(response->error->message(), "the memory allocator has no 12 bytes of host memory for output 'OUTPUT0'");
    EXPECT_EQ(book.back, 0);
}

}  // namespace
}  // namespace triton_inprocess::testing
