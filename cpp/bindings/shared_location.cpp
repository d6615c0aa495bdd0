#include "bindings/shared_location.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <variant>

#include "bindings/arguments.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

constexpr std::size_t region_values = 5;
constexpr std::size_t ipc_values = 7;

nb::bytes handle_bytes(const IpcMemoryRegion& region) {
    const auto& content = region.handle().handle.reserved;
    return nb::bytes(std::begin(content), std::size(content));
}

nb::tuple values_of(const SharedMemoryRegion& region) {
    return nb::make_tuple(region.key(), region.offset(), region.byte_size(), region.block().segment_id,
                          region.block().id);
}

nb::tuple values_of(const IpcMemoryRegion& region) {
    return nb::make_tuple(handle_bytes(region), region.handle().device, region.offset(), region.byte_size(),
                          region.read_only(), region.id().process, region.id().number);
}

void require_values(const nb::tuple& values, std::size_t expected, const char* what) {
    if (values.size() != expected) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the location of a SharedTensor in " + std::string(what) + " has " +
                                                        std::to_string(expected) + " values, not " +
                                                        std::to_string(values.size()));
    }
}

SharedMemoryRegion region_of(const nb::tuple& values) {
    require_values(values, region_values, "host memory");
    return SharedMemoryRegion(
        text_argument("key", values[0]), unsigned_argument("offset", values[1], INT64_MAX),
        unsigned_argument("byte_size", values[2], INT64_MAX),
        {unsigned_argument("segment_id", values[3], UINT64_MAX), unsigned_argument("id", values[4], UINT64_MAX)});
}

IpcMemoryRegion ipc_region_of(const nb::tuple& values) {
    require_values(values, ipc_values, "GPU memory");
    const auto content = nb::borrow<nb::bytes>(values[0]);
    IpcMemoryHandle handle;
    if (content.size() != std::size(handle.handle.reserved)) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "ipc_handle must have " +
                                                        std::to_string(std::size(handle.handle.reserved)) +
                                                        " bytes, not " + std::to_string(content.size()));
    }
    std::copy_n(content.c_str(), content.size(), std::begin(handle.handle.reserved));
    handle.device = static_cast<std::int64_t>(unsigned_argument("memory_type_id", values[1], INT32_MAX));
    handle.offset = unsigned_argument("offset", values[2], INT64_MAX);
    handle.byte_size = unsigned_argument("byte_size", values[3], INT64_MAX);
    return IpcMemoryRegion(
        handle, bool_argument("read_only", values[4]),
        {unsigned_argument("process", values[5], UINT64_MAX), unsigned_argument("number", values[6], UINT64_MAX)});
}

}  // namespace

nb::tuple location_values(const SharedTensor::Location& location) {
    return std::visit([](const auto& region) { return values_of(region); }, location);
}

SharedTensor::Location location_of_values(nb::handle values) {
    if (PyTuple_Check(values.ptr()) == 0) {
        wrong_type("location", "a tuple", values);
    }
    const auto tuple = nb::borrow<nb::tuple>(values);
    if (tuple.empty()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the location of a SharedTensor must not be empty");
    }
    const nb::object first = tuple[0];
    if (PyBytes_Check(first.ptr()) != 0) {
        return ipc_region_of(tuple);
    }
    if (PyUnicode_Check(first.ptr()) == 0) {
        wrong_type("location[0]", "a str (the key of shared memory) or bytes (an IPC handle)", first);
    }
    return region_of(tuple);
}

std::string key_of(const SharedTensor& shared) {
    if (const auto* const region = std::get_if<SharedMemoryRegion>(&shared.location())) {
        return region->key();
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                "the shared tensor is in GPU memory, which has no key: processes open it by its ipc_handle");
}

nb::bytes ipc_handle_of(const SharedTensor& shared) {
    if (const auto* const region = std::get_if<IpcMemoryRegion>(&shared.location())) {
        return handle_bytes(*region);
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                "the shared tensor is in host memory, which has no IPC handle: processes open it by its key");
}

MemoryType memory_type_of(const SharedTensor& shared) noexcept {
    return std::holds_alternative<IpcMemoryRegion>(shared.location()) ? TRITONSERVER_MEMORY_GPU
                                                                      : TRITONSERVER_MEMORY_CPU;
}

std::int64_t memory_type_id_of(const SharedTensor& shared) noexcept {
    const auto* const region = std::get_if<IpcMemoryRegion>(&shared.location());
    return region == nullptr ? 0 : region->handle().device;
}

}  // namespace triton_inprocess
