#include "tensor/shared_memory_region.h"

#include <cstring>
#include <utility>

#include "runtime/error.h"
#include "tensor/region_buffer.h"

namespace triton_inprocess {
namespace {

/// The memory if it lies in the pool.
const SharedBuffer* in_pool(const Buffer& buffer, const SharedMemoryPool& pool) noexcept {
    const auto* const shared = dynamic_cast<const SharedBuffer*>(&buffer.root());
    return shared != nullptr && shared->pool()->segment_id() == pool.segment_id() ? shared : nullptr;
}

}  // namespace

SharedMemoryRegion::SharedMemoryRegion(const std::string& key, std::uint64_t offset, std::uint64_t byte_size,
                                       Block block)
    : name_(SharedMemorySegment::name_of(key)), offset_(offset), byte_size_(byte_size), block_(block) {}

SharedMemoryRegion SharedMemoryRegion::share(const Buffer& buffer, SharedMemoryPool& pool) {
    Ref<SharedBuffer> held;
    if (const SharedBuffer* const there = in_pool(buffer, pool)) {
        held = there->pool()->hold(there->id(), there->pool()->offset_of(buffer.data()), buffer.byte_size(), true);
    } else {
        held = pool.allocate(buffer.byte_size());
        if (buffer.byte_size() != 0) {
            std::memcpy(held->data(), buffer.data(), buffer.byte_size());
        }
    }
    SharedMemoryRegion result(pool.name(), held->pool()->offset_of(held->data()), buffer.byte_size(),
                              {pool.segment_id(), held->id()});
    result.held_ = std::move(held);
    return result;
}

Ref<Buffer> SharedMemoryRegion::open(bool writable) const {
    if (block_.segment_id != 0) {
        return SharedMemoryPool::open(name_, block_.segment_id)->hold(block_.id, offset_, byte_size_, !writable);
    }
    using Access = SharedMemorySegment::Access;
    SharedMemorySegment segment = SharedMemorySegment::open(name_, writable ? Access::writable : Access::read_only);
    if (offset_ > segment.byte_size() || byte_size_ > segment.byte_size() - offset_) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the shared tensor's " + std::to_string(byte_size_) +
                                                        " bytes at offset " + std::to_string(offset_) +
                                                        " are not in the shared memory '" + name_ + "', which has " +
                                                        std::to_string(segment.byte_size()) + " bytes");
    }
    return make_ref<RegionBuffer>(std::move(segment), offset_, byte_size_, !writable);
}

}  // namespace triton_inprocess
