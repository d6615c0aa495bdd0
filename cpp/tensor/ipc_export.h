// GPU memory that this process has exported, which it finds again by an id: the driver does not open a process's own.
#pragma once

#include <cstdint>
#include <memory>

#include "tensor/exported_ipc_buffer.h"

namespace triton_inprocess {

/// Which export of which process.
struct IpcExportId {
    std::uint64_t process = 0;  ///< A number of the process's own: two containers may have the same process id.
    std::uint64_t number = 0;
};

class IpcExport {
  public:
    /// Exports the memory, for as long as somebody has the result. Throws what ExportedIpcBuffer throws.
    static std::shared_ptr<const IpcExport> make(Ref<Buffer> buffer);

    /// Whether it is an export of this process, which uses CUDA.
    static bool is_own(const IpcExportId& id);

    /// An export of this process; throws NOT_FOUND when it is no more.
    static std::shared_ptr<const IpcExport> find(const IpcExportId& id);

    explicit IpcExport(Ref<Buffer> buffer);
    ~IpcExport();
    IpcExport(const IpcExport&) = delete;
    IpcExport& operator=(const IpcExport&) = delete;

    const IpcExportId& id() const noexcept { return id_; }
    const IpcMemoryHandle& handle() const noexcept { return exported_.handle(); }
    const Ref<Buffer>& buffer() const noexcept { return exported_.buffer(); }

  private:
    ExportedIpcBuffer exported_;
    IpcExportId id_;
};

}  // namespace triton_inprocess
