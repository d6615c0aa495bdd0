#include "tensor/ipc_export.h"

#include <map>
#include <mutex>
#include <utility>

#include "runtime/error.h"
#include "tensor/cuda_driver.h"
#include "tensor/random_number.h"

namespace triton_inprocess {
namespace {

/// The exports of this process. A forked child has a copy, and must not use it: somebody may have held the lock.
struct Exports {
    std::mutex mutex;
    std::uint64_t process = random_number();
    std::uint64_t last = 0;
    std::map<std::uint64_t, std::weak_ptr<const IpcExport>> live;
};

Exports& exports() {
    // Never destroyed: memory may be let go until the process ends.
    static auto* const instance = std::make_unique<Exports>().release();
    return *instance;
}

}  // namespace

IpcExport::IpcExport(Ref<Buffer> buffer) : exported_(std::move(buffer)) {
    Exports& all = exports();
    const std::scoped_lock guard(all.mutex);
    id_ = {all.process, ++all.last};
}

IpcExport::~IpcExport() {
    if (CudaDriver::in_use() == nullptr) {
        return;
    }
    Exports& all = exports();
    const std::scoped_lock guard(all.mutex);
    all.live.erase(id_.number);
}

std::shared_ptr<const IpcExport> IpcExport::make(Ref<Buffer> buffer) {
    auto result = std::make_shared<const IpcExport>(std::move(buffer));
    Exports& all = exports();
    const std::scoped_lock guard(all.mutex);
    all.live[result->id_.number] = result;
    return result;
}

bool IpcExport::is_own(const IpcExportId& id) {
    return id.process == exports().process;
}

std::shared_ptr<const IpcExport> IpcExport::find(const IpcExportId& id) {
    Exports& all = exports();
    const std::scoped_lock guard(all.mutex);
    const auto found = all.live.find(id.number);
    std::shared_ptr<const IpcExport> result = found == all.live.end() ? nullptr : found->second.lock();
    if (!result) {
        throw Error(TRITONSERVER_ERROR_NOT_FOUND,
                    "the shared tensor is no more: everybody in this process who held it has let go of it. Whoever "
                    "sends a SharedTensor has to keep it for as long as others use the tensor");
    }
    return result;
}

}  // namespace triton_inprocess
