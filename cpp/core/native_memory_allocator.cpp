#include "core/native_memory_allocator.h"

#include <string>

#include "runtime/error.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

/// What a C function gave, and the other one takes back.
class NativeMemory final : public Buffer {
  public:
    NativeMemory(void* data, std::size_t byte_size, const MemoryPlace& place, Ref<NativeMemoryAllocator> allocator)
        : Buffer(data, byte_size, place.memory_type, place.memory_type_id, false), allocator_(std::move(allocator)) {}
    ~NativeMemory() override { allocator_->free(*this); }

  private:
    const Ref<NativeMemoryAllocator> allocator_;
};

}  // namespace

Ref<Buffer> NativeMemoryAllocator::allocate(const char* name, std::size_t byte_size, const MemoryPlace& wanted) {
    if (byte_size == 0) {
        return HostBufferPool::instance().allocate(0);  // null would say that there is no memory
    }
    auto memory_type = static_cast<std::int32_t>(wanted.memory_type);
    std::int64_t memory_type_id = wanted.memory_type_id;
    void* const data = allocate_(user_, name, byte_size, &memory_type, &memory_type_id);
    if (data == nullptr) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the memory allocator has no " + std::to_string(byte_size) +
                                                        " bytes of " + place_text(wanted) + " for output '" + name +
                                                        "'");
    }
    if (memory_type < TRITONSERVER_MEMORY_CPU || memory_type > TRITONSERVER_MEMORY_GPU) {
        free_(user_, data, byte_size, memory_type, memory_type_id);
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the memory allocator gave memory of type " +
                                                        std::to_string(memory_type) + " for output '" + name +
                                                        "': a TRITONSERVER_MemoryType is expected");
    }
    return make_ref<NativeMemory>(data, byte_size, MemoryPlace{static_cast<MemoryType>(memory_type), memory_type_id},
                                  Ref<NativeMemoryAllocator>(this));
}

void NativeMemoryAllocator::free(const Buffer& memory) const noexcept {
    free_(user_, memory.data(), memory.byte_size(), static_cast<std::int32_t>(memory.memory_type()),
          memory.memory_type_id());
}

}  // namespace triton_inprocess
