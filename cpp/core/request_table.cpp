#include "core/request_table.h"

#include <algorithm>
#include <memory>

#include "core/request_block.h"

namespace triton_inprocess {

RequestTable& RequestTable::instance() {
    // Never destroyed: Triton's threads may still release requests while the process ends.
    static auto* table = std::make_unique<RequestTable>().release();
    return *table;
}

RequestTable::Shard& RequestTable::shard(const TRITONSERVER_InferenceRequest* request) noexcept {
    // The low bits are the same for all heap addresses; a multiplicative hash spreads the rest.
    const auto address = reinterpret_cast<std::uintptr_t>(request) >> 4;
    return shards_[(address * 0x9E3779B97F4A7C15ULL) >> 58];
}

void RequestTable::insert(const TRITONSERVER_InferenceRequest* request, RequestBlock* block) {
    Shard& target = shard(request);
    const std::scoped_lock guard(target.mutex);
    target.entries.push_back({request, block});
}

void RequestTable::erase(const TRITONSERVER_InferenceRequest* request) noexcept {
    Shard& target = shard(request);
    const std::scoped_lock guard(target.mutex);
    auto& entries = target.entries;
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.request == request; });
    if (found != entries.end()) {
        *found = entries.back();
        entries.pop_back();
    }
}

Ref<RequestBlock> RequestTable::find(const TRITONSERVER_InferenceRequest* request) noexcept {
    Shard& target = shard(request);
    const std::scoped_lock guard(target.mutex);
    for (const Entry& entry : target.entries) {
        if (entry.request == request) {
            return Ref<RequestBlock>(entry.block);
        }
    }
    return nullptr;
}

}  // namespace triton_inprocess
