#include "tensor/data_type.h"

#include <array>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

struct DataTypeFact {
    DataType data_type;
    const char* name;
    std::size_t element_size;
};

constexpr std::array<DataTypeFact, 14> facts = {{
    {TRITONSERVER_TYPE_BOOL, "BOOL", 1},
    {TRITONSERVER_TYPE_UINT8, "UINT8", 1},
    {TRITONSERVER_TYPE_UINT16, "UINT16", 2},
    {TRITONSERVER_TYPE_UINT32, "UINT32", 4},
    {TRITONSERVER_TYPE_UINT64, "UINT64", 8},
    {TRITONSERVER_TYPE_INT8, "INT8", 1},
    {TRITONSERVER_TYPE_INT16, "INT16", 2},
    {TRITONSERVER_TYPE_INT32, "INT32", 4},
    {TRITONSERVER_TYPE_INT64, "INT64", 8},
    {TRITONSERVER_TYPE_FP16, "FP16", 2},
    {TRITONSERVER_TYPE_FP32, "FP32", 4},
    {TRITONSERVER_TYPE_FP64, "FP64", 8},
    {TRITONSERVER_TYPE_BYTES, "BYTES", 0},
    {TRITONSERVER_TYPE_BF16, "BF16", 2},
}};

const DataTypeFact& fact(DataType data_type) {
    // The table is in the order of the enumeration, which starts with INVALID.
    const auto index = static_cast<std::size_t>(data_type) - 1;
    if (index >= facts.size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "unknown data type " + std::to_string(static_cast<int>(data_type)));
    }
    return facts[index];
}

std::size_t multiply(std::size_t a, std::size_t b, const std::int64_t* shape, std::size_t rank) {
    std::size_t product = 0;
    if (__builtin_mul_overflow(a, b, &product) || product > static_cast<std::size_t>(INT64_MAX)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "shape " + shape_text(shape, rank) + " is too large");
    }
    return product;
}

}  // namespace

std::size_t element_size(DataType data_type) {
    return fact(data_type).element_size;
}

const char* data_type_name(DataType data_type) {
    return fact(data_type).name;
}

std::size_t element_count(const std::int64_t* shape, std::size_t rank) {
    std::size_t count = 1;
    bool empty = false;
    for (std::size_t i = 0; i < rank; ++i) {
        if (shape[i] < 0) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                        "shape " + shape_text(shape, rank) + " has a negative dimension");
        }
        empty = empty || shape[i] == 0;
    }
    for (std::size_t i = 0; i < rank && !empty; ++i) {
        count = multiply(count, static_cast<std::size_t>(shape[i]), shape, rank);
    }
    return empty ? 0 : count;
}

std::size_t byte_size_of(DataType data_type, const std::int64_t* shape, std::size_t rank) {
    return multiply(element_count(shape, rank), element_size(data_type), shape, rank);
}

std::string shape_text(const std::int64_t* shape, std::size_t rank) {
    std::string text = "[";
    for (std::size_t i = 0; i < rank; ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
    }
    return text + "]";
}

}  // namespace triton_inprocess
