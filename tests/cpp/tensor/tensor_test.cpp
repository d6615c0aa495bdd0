// Shapes, sizes and what does not fit.
#include "tensor/tensor.h"

#include <cstdint>

#include "support/fake_triton.h"
#include "tensor/deferred_release.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess::testing {
namespace {

using Shape = std::vector<std::int64_t>;

Ref<Buffer> memory(std::size_t size) {
    return HostBufferPool::instance().allocate(size);
}

std::size_t count(const Shape& shape) {
    return element_count(shape.data(), shape.size());
}

TEST(TensorTest, CountsItsElements) {
    const Tensor tensor(TRITONSERVER_TYPE_FP32, {2, 3}, memory(24));
    EXPECT_EQ(tensor.element_count(), 6U);
    EXPECT_EQ(Tensor(TRITONSERVER_TYPE_INT64, {}, memory(8)).element_count(), 1U);
    EXPECT_EQ(Tensor(TRITONSERVER_TYPE_INT8, {0, INT64_MAX, INT64_MAX}, memory(0)).element_count(), 0U);
    EXPECT_EQ(Tensor(TRITONSERVER_TYPE_BYTES, {5}, memory(3)).element_count(), 5U);
}

TEST(TensorTest, RefusesWhatDoesNotFit) {
    for (const Shape& shape : {Shape{2, 2}, Shape{-1}, Shape{INT64_MAX, INT64_MAX}, Shape{INT64_MAX / 2}}) {
        EXPECT_EQ(error_of([&] { Tensor(TRITONSERVER_TYPE_FP32, shape, memory(12)); }).code(),
                  TRITONSERVER_ERROR_INVALID_ARG);
    }
    EXPECT_EQ(error_of([] { Tensor(TRITONSERVER_TYPE_BYTES, {-1}, memory(12)); }).code(),
              TRITONSERVER_ERROR_INVALID_ARG);
    EXPECT_EQ(error_of([] { count({INT64_MAX, 3}); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

TEST(TensorTest, DataTypes) {
    EXPECT_EQ(element_size(TRITONSERVER_TYPE_BF16), 2U);
    EXPECT_STREQ(data_type_name(TRITONSERVER_TYPE_BYTES), "BYTES");
    EXPECT_EQ(error_of([] { element_size(TRITONSERVER_TYPE_INVALID); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
}

int asked = 0;

TEST(DeferredReleaseTest, AsksOnlyWhomItWasToldOf) {
    DeferredRelease::ask();
    DeferredRelease::set_ask([] { ++asked; });
    DeferredRelease::ask();
    EXPECT_EQ(asked, 1);
    DeferredRelease::set_ask(nullptr);
    DeferredRelease::ask();
    EXPECT_EQ(asked, 1);
    EXPECT_FALSE(DeferredRelease::consumer_comes());
    {
        const DeferredRelease::ConsumerComes scope;
        EXPECT_TRUE(DeferredRelease::consumer_comes());
    }
    EXPECT_FALSE(DeferredRelease::consumer_comes());
}

}  // namespace
}  // namespace triton_inprocess::testing
