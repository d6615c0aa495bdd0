#include "bindings/dlpack_device.h"

#include <nanobind/stl/pair.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "runtime/error.h"
#include "tensor/cuda_stream.h"
#include "tensor/device_buffer.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::optional<MemoryPlace> find_place(dlpack::Device device) noexcept {
    const auto memory_type = dlpack::memory_type_of(static_cast<dlpack::DeviceType>(device.device_type));
    if (!memory_type) {
        return std::nullopt;
    }
    return MemoryPlace{*memory_type, *memory_type == TRITONSERVER_MEMORY_GPU ? device.device_id : 0};
}

}  // namespace

dlpack::Device device_of(const Buffer& buffer) {
    const auto id = static_cast<std::int32_t>(buffer.memory_type_id());
    switch (buffer.memory_type()) {
        case TRITONSERVER_MEMORY_CPU:
            return {dlpack::device_cpu, 0};
        case TRITONSERVER_MEMORY_CPU_PINNED:
            return {dlpack::device_cuda_host, 0};
        case TRITONSERVER_MEMORY_GPU:
            return {dlpack::device_cuda, id};
    }
    throw nb::buffer_error("memory of an unknown kind");
}

MemoryPlace place_of(dlpack::Device device) {
    if (const std::optional<MemoryPlace> place = find_place(device)) {
        return *place;
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                "a DLPack tensor must be in host memory or on a CUDA device, not on device (" +
                    std::to_string(device.device_type) + ", " + std::to_string(device.device_id) + ")");
}

MemoryPlace requested_place(const Buffer& buffer, nb::handle dl_device) {
    const dlpack::Device own = device_of(buffer);
    if (dl_device.is_none()) {
        return place_of(own);
    }
    std::pair<std::int32_t, std::int32_t> wanted;
    if (!nb::try_cast(dl_device, wanted)) {
        wrong_type("dl_device", "None or a pair of ints", dl_device);
    }
    const std::optional<MemoryPlace> place = find_place({wanted.first, wanted.second});
    const bool same = wanted.first == own.device_type && wanted.second == own.device_id;
    const bool to_host = wanted.first == dlpack::device_cpu;
    const bool from_gpu = buffer.memory_type() == TRITONSERVER_MEMORY_GPU;
    const bool numbered = place && place->memory_type == TRITONSERVER_MEMORY_GPU;
    const bool exists = place && (numbered ? wanted.second >= 0 : wanted.second == 0);
    if (!exists || !(same || to_host || from_gpu)) {
        throw nb::buffer_error(("the tensor is on DLPack's device (" + std::to_string(own.device_type) + ", " +
                                std::to_string(own.device_id) + ") and cannot be exported on the requested device (" +
                                std::to_string(wanted.first) + ", " + std::to_string(wanted.second) +
                                "): use to_device()")
                                   .c_str());
    }
    return *place;
}

std::optional<CUstream> stream_argument(const Buffer& buffer, nb::handle stream) {
    const bool on_gpu = buffer.memory_type() == TRITONSERVER_MEMORY_GPU;
    if (stream.is_none()) {
        return on_gpu ? std::optional<CUstream>(reinterpret_cast<CUstream>(CU_STREAM_LEGACY)) : std::nullopt;
    }
    const std::int64_t number = integer_argument("stream", stream);
    if (number == -1) {
        return std::nullopt;
    }
    if (!on_gpu) {
        throw nb::buffer_error("stream must be None for a tensor in host memory");
    }
    if (number <= 0) {
        throw nb::value_error(("stream must be None or 1 (the legacy default stream), 2 (the per-thread default "
                               "stream), -1 (no synchronisation) or a stream's handle, not " +
                               std::to_string(number))
                                  .c_str());
    }
    return reinterpret_cast<CUstream>(number);
}

void give_to_stream(const Buffer& buffer, std::optional<CUstream> stream) {
    if (buffer.memory_type() != TRITONSERVER_MEMORY_GPU) {
        return;
    }
    lend(buffer);
    // What this project and Triton have written is complete, for both wait for it. The memory of a caller may have work
    // in the default stream: the legacy stream follows it by itself, another one is told to.
    if (stream && *stream != reinterpret_cast<CUstream>(CU_STREAM_LEGACY) && buffer.byte_size() != 0) {
        const ReleaseGil released;
        wait_for_default_stream(CudaDevice::get(buffer.memory_type_id()), *stream);
    }
}

}  // namespace triton_inprocess
