// A part of a GPU's memory as one process tells another of it.
#pragma once

#include <cstdint>
#include <memory>

#include "tensor/ipc_export.h"
#include "tensor/ipc_memory_handle.h"

namespace triton_inprocess {

class IpcMemoryRegion {
  public:
    /// What another process has told: nothing of it is believed before `open`. Without bytes, the handle means nothing.
    IpcMemoryRegion(const IpcMemoryHandle& handle, bool read_only, const IpcExportId& id)
        : handle_(handle), read_only_(read_only), id_(id) {}

    /// Exports memory of a GPU, or a copy of it on that GPU where the driver does not export the memory itself. Returns
    /// once it holds what it holds in the order of the GPU's default stream. The result holds the memory.
    static IpcMemoryRegion share(const Ref<Buffer>& buffer);

    /// The memory itself, in this process or in another. Throws INVALID_ARG for what is no such memory, or is read-only
    /// and was to be writable, and NOT_FOUND for this process's that nobody holds any more.
    Ref<Buffer> open(bool writable) const;

    const IpcMemoryHandle& handle() const noexcept { return handle_; }
    std::uint64_t offset() const noexcept { return handle_.offset; }
    std::uint64_t byte_size() const noexcept { return handle_.byte_size; }
    bool read_only() const noexcept { return read_only_; }
    const IpcExportId& id() const noexcept { return id_; }

  private:
    IpcMemoryHandle handle_;
    bool read_only_;
    IpcExportId id_;
    std::shared_ptr<const IpcExport> held_;
};

}  // namespace triton_inprocess
