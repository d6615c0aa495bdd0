#include "tensor/dlpack.h"

#include <array>

#include "runtime/error.h"

namespace triton_inprocess::dlpack {
namespace {

struct Row {
    DataType data_type;
    Type type;
};

constexpr std::array<Row, 13> types = {{
    {TRITONSERVER_TYPE_BOOL, {code_bool, 8, 1}},
    {TRITONSERVER_TYPE_UINT8, {code_uint, 8, 1}},
    {TRITONSERVER_TYPE_UINT16, {code_uint, 16, 1}},
    {TRITONSERVER_TYPE_UINT32, {code_uint, 32, 1}},
    {TRITONSERVER_TYPE_UINT64, {code_uint, 64, 1}},
    {TRITONSERVER_TYPE_INT8, {code_int, 8, 1}},
    {TRITONSERVER_TYPE_INT16, {code_int, 16, 1}},
    {TRITONSERVER_TYPE_INT32, {code_int, 32, 1}},
    {TRITONSERVER_TYPE_INT64, {code_int, 64, 1}},
    {TRITONSERVER_TYPE_FP16, {code_float, 16, 1}},
    {TRITONSERVER_TYPE_FP32, {code_float, 32, 1}},
    {TRITONSERVER_TYPE_FP64, {code_float, 64, 1}},
    {TRITONSERVER_TYPE_BF16, {code_bfloat, 16, 1}},
}};

bool is_float(std::uint8_t code) noexcept {
    return code == code_float || (code >= code_first_small_float && code <= code_last_small_float);
}

}  // namespace

Type type_of(DataType data_type) {
    for (const Row& row : types) {
        if (row.data_type == data_type) {
            return row.type;
        }
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED, std::string("DLPack has no type for ") + data_type_name(data_type));
}

DataType data_type_of(Type type) noexcept {
    for (const Row& row : types) {
        if (row.type.code == type.code && row.type.bits == type.bits && row.type.lanes == type.lanes) {
            return row.data_type;
        }
    }
    return TRITONSERVER_TYPE_INVALID;
}

std::optional<MemoryType> memory_type_of(DeviceType device_type) noexcept {
    switch (device_type) {
        case DeviceType::cpu:
            return TRITONSERVER_MEMORY_CPU;
        case DeviceType::cuda:
            return TRITONSERVER_MEMORY_GPU;
        case DeviceType::cuda_host:
            return TRITONSERVER_MEMORY_CPU_PINNED;
        default:
            return std::nullopt;
    }
}

std::string type_text(Type type) {
    const char* const name = type.code == code_int       ? "int"
                             : type.code == code_uint    ? "uint"
                             : type.code == code_bfloat  ? "bfloat"
                             : type.code == code_complex ? "complex"
                             : type.code == code_bool    ? "bool"
                             : is_float(type.code)       ? "float"
                                                         : "type";
    const std::string lanes = type.lanes == 1 ? "" : " of " + std::to_string(type.lanes) + " lanes";
    return name + std::to_string(type.bits) + lanes + " (DLPack code " + std::to_string(type.code) + ")";
}

Layout layout_of(const TensorView& tensor, std::size_t element_size) {
    if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "a DLPack tensor of " + std::to_string(tensor.ndim) + " dimensions without a shape");
    }
    const auto rank = static_cast<std::size_t>(tensor.ndim);
    Layout layout = Layout::c_order({tensor.shape, tensor.shape + rank}, element_size);
    for (std::size_t i = 0; i < rank && tensor.strides != nullptr; ++i) {
        // Unsigned: what is no stride may wrap around.
        layout.strides[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(tensor.strides[i]) * element_size);
    }
    return layout;
}

}  // namespace triton_inprocess::dlpack
