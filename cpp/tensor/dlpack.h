// The memory layout of DLPack 1.x, which is an ABI: the names of the fields are the standard's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tensor/buffer.h"
#include "tensor/data_type.h"
#include "tensor/layout.h"

namespace triton_inprocess::dlpack {

struct Device {
    std::int32_t device_type;
    std::int32_t device_id;
};

struct Type {
    std::uint8_t code;
    std::uint8_t bits;
    std::uint16_t lanes;
};

struct TensorView {
    void* data;
    Device device;
    std::int32_t ndim;
    Type dtype;
    std::int64_t* shape;
    std::int64_t* strides;
    std::uint64_t byte_offset;
};

struct Managed {
    TensorView tensor;
    void* manager;
    void (*deleter)(Managed*);
};

struct Version {
    std::uint32_t major;
    std::uint32_t minor;
};

struct ManagedVersioned {
    Version version;
    void* manager;
    void (*deleter)(ManagedVersioned*);
    std::uint64_t flags;
    TensorView tensor;
};

// What a capsule is called until it is consumed, by the struct that it points to.
constexpr const char* legacy_name = "dltensor";
constexpr const char* versioned_name = "dltensor_versioned";

constexpr std::uint64_t flag_read_only = 1;
constexpr std::uint64_t flag_is_copied = 2;

/// All of the standard's numbers.
enum class DeviceType : std::int32_t {
    cpu = 1,
    cuda = 2,
    cuda_host = 3,
    opencl = 4,
    vulkan = 7,
    metal = 8,
    vpi = 9,
    rocm = 10,
    rocm_host = 11,
    ext_dev = 12,
    cuda_managed = 13,
    one_api = 14,
    webgpu = 15,
    hexagon = 16,
    maia = 17,
};

// Those that Triton has memory of, as a Device has them.
constexpr auto device_cpu = static_cast<std::int32_t>(DeviceType::cpu);
constexpr auto device_cuda = static_cast<std::int32_t>(DeviceType::cuda);
constexpr auto device_cuda_host = static_cast<std::int32_t>(DeviceType::cuda_host);

constexpr std::uint8_t code_int = 0;
constexpr std::uint8_t code_uint = 1;
constexpr std::uint8_t code_float = 2;
constexpr std::uint8_t code_bfloat = 4;
constexpr std::uint8_t code_complex = 5;
constexpr std::uint8_t code_bool = 6;
constexpr std::uint8_t code_first_small_float = 7;  ///< From here on: the floats of 8 bits and fewer.
constexpr std::uint8_t code_last_small_float = 17;

constexpr std::uint32_t major_version = 1;
constexpr std::uint32_t minor_version = 0;

/// DLPack's type for one of Triton's; throws UNSUPPORTED for BYTES, which have none.
Type type_of(DataType data_type);

/// Triton's type; INVALID for what Triton has not.
DataType data_type_of(Type type) noexcept;

/// The kind of memory that a device has; nothing for one that Triton has no memory of.
std::optional<MemoryType> memory_type_of(DeviceType device_type) noexcept;

/// "float8 (DLPack code 10)": a type as words, for messages.
std::string type_text(Type type);

/// The layout of a tensor whose strides may be NULL, which means C order. Throws INVALID_ARG for what is no shape.
Layout layout_of(const TensorView& tensor, std::size_t element_size);

}  // namespace triton_inprocess::dlpack
