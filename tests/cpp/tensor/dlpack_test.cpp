// DLPack's types and layouts.
#include "tensor/dlpack.h"

#include "support/fake_triton.h"

namespace triton_inprocess::dlpack::testing {
namespace {

using triton_inprocess::testing::error_of;

TEST(DlpackTest, EveryTypeThereAndBack) {
    for (int i = TRITONSERVER_TYPE_BOOL; i <= TRITONSERVER_TYPE_BF16; ++i) {
        const auto data_type = static_cast<DataType>(i);
        if (data_type == TRITONSERVER_TYPE_BYTES) {
            EXPECT_EQ(error_of([&] { type_of(data_type); }).code(), TRITONSERVER_ERROR_UNSUPPORTED);
            continue;
        }
        const Type type = type_of(data_type);
        EXPECT_EQ(type.bits, 8 * element_size(data_type));
        EXPECT_EQ(data_type_of(type), data_type);
        EXPECT_EQ(data_type_of({type.code, type.bits, 2}), TRITONSERVER_TYPE_INVALID);
    }
    EXPECT_EQ(data_type_of({code_complex, 64, 1}), TRITONSERVER_TYPE_INVALID);
    EXPECT_EQ(data_type_of({code_bool, 1, 1}), TRITONSERVER_TYPE_INVALID);
    EXPECT_EQ(type_text({code_first_small_float, 8, 1}), "float8 (DLPack code 7)");
    EXPECT_EQ(type_text({code_float, 32, 4}), "float32 of 4 lanes (DLPack code 2)");
}

TEST(DlpackTest, StridesAreElementsOrNothing) {
    std::vector<std::int64_t> shape = {2, 3};
    std::vector<std::int64_t> strides = {-6, 2};
    TensorView view = {};
    view.ndim = 2;
    view.shape = shape.data();
    EXPECT_TRUE(layout_of(view, 4).plain());
    EXPECT_EQ(layout_of(view, 4).strides, (std::vector<std::int64_t>{12, 4}));
    view.strides = strides.data();
    EXPECT_EQ(layout_of(view, 4).strides, (std::vector<std::int64_t>{-24, 8}));
    view.ndim = 0;
    view.shape = nullptr;
    EXPECT_TRUE(layout_of(view, 4).plain());
}

TEST(DlpackTest, WhatIsNoShapeIsRefused) {
    std::vector<std::int64_t> shape = {INT64_MAX, 8};
    TensorView view = {};
    view.ndim = 2;
    EXPECT_EQ(error_of([&] { layout_of(view, 4); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    view.shape = shape.data();
    EXPECT_EQ(error_of([&] { layout_of(view, 4); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    shape = {-1, 8};
    EXPECT_EQ(error_of([&] { layout_of(view, 4); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    view.ndim = -1;
    EXPECT_EQ(error_of([&] { layout_of(view, 4); }).code(), TRITONSERVER_ERROR_INVALID_ARG);
    shape = {INT64_MAX, 0};
    view.ndim = 2;
    EXPECT_EQ(layout_of(view, 4).byte_size(), 0U);
}

}  // namespace
}  // namespace triton_inprocess::dlpack::testing
