// A GPU's memory that other processes may open for as long as this object lives.
#pragma once

#include "tensor/buffer.h"
#include "tensor/ipc_memory_handle.h"

namespace triton_inprocess {

class ExportedIpcBuffer {
  public:
    /// Whether the driver exports the memory: not what is from a pool, another process's or mapped by addresses of its
    /// own. Throws INVALID_ARG for memory that is no GPU's.
    static bool can_export(const Buffer& buffer);

    /// The memory must be an allocation of cuMemAlloc, or a part of one: of a DeviceBuffer, a shareable one. Throws
    /// INVALID_ARG for other memory.
    explicit ExportedIpcBuffer(Ref<Buffer> buffer);

    const IpcMemoryHandle& handle() const noexcept { return handle_; }
    const Ref<Buffer>& buffer() const noexcept { return buffer_; }

  private:
    Ref<Buffer> buffer_;
    IpcMemoryHandle handle_;
};

}  // namespace triton_inprocess
