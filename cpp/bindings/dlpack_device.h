// DLPack's devices and streams, for memory that a GPU has or reaches.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "abi/cuda.h"
#include "tensor/buffer.h"
#include "tensor/dlpack.h"
#include "tensor/transfer.h"

namespace triton_inprocess {

/// The stream with which this project asks for GPU memory: the legacy default one.
constexpr int consumer_stream = 1;

dlpack::Device device_of(const Buffer& buffer);

/// Where Triton says that memory on such a device lies; throws UNSUPPORTED for a device that it has no memory of.
MemoryPlace place_of(dlpack::Device device);

/// Where a consumer wants the memory (`dl_device`, may be None); throws BufferError where it cannot be brought.
MemoryPlace requested_place(const Buffer& buffer, nanobind::handle dl_device);

/// The consumer's stream, as the array API standard numbers them; nothing where no stream is to wait. Throws ValueError
/// for a number that is none, BufferError for any stream where the memory is the host's.
std::optional<CUstream> stream_argument(const Buffer& buffer, nanobind::handle stream);

/// Gives GPU memory to a consumer: what its stream does from now on finds the memory written.
void give_to_stream(const Buffer& buffer, std::optional<CUstream> stream);

}  // namespace triton_inprocess
