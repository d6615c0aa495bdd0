// Copies between kinds of memory, and between GPUs.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/buffer.h"

namespace triton_inprocess {

/// A kind of memory and the number of the device that has it; host memory is all of device 0.
struct MemoryPlace {
    MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
    std::int64_t memory_type_id = 0;
};

MemoryPlace place_of(const Buffer& buffer) noexcept;

/// Whether the memory lies there; the number means nothing for the host's.
bool is_at(const Buffer& buffer, const MemoryPlace& place) noexcept;

/// Where a copy is made if nobody says where: on the same GPU; in host memory, also of what is pinned, which is scarce.
MemoryPlace copy_place(const Buffer& buffer) noexcept;

/// "GPU 1", "pinned host memory" or "host memory"
std::string place_text(const MemoryPlace& place);

/// Uninitialised memory. Throws what CudaDevice::get and the buffers' constructors throw.
Ref<Buffer> allocate_at(const MemoryPlace& place, std::size_t byte_size);

/// Copies host memory to other memory, of which the address is known. Blocks as `transfer` does.
void copy_from_host(const void* source, void* target, const MemoryPlace& place, std::size_t byte_size);

/// A copy of the memory at another place; the buffer itself where it is there already. Blocks until the copy is made,
/// so call it without the GIL. Throws what CudaDevice::get and the buffers' constructors throw.
Ref<Buffer> transfer(const Ref<Buffer>& source, const MemoryPlace& place);

/// A copy of a GPU's memory on the same GPU, which other processes can open. Blocks as `transfer` does.
Ref<Buffer> copy_to_shareable(const Buffer& source);

/// A copy of the memory, of its own: also where the buffer is there already.
Ref<Buffer> copy_to(const Buffer& source, const MemoryPlace& place);

}  // namespace triton_inprocess
