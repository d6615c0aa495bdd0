// An allocator that is two C functions.
#pragma once

#include <cstdint>
#include <utility>

#include "core/memory_allocator.h"

namespace triton_inprocess {

/// The functions are called on any thread, several at once, without Python's lock.
class NativeMemoryAllocator final : public MemoryAllocator {
  public:
    /// Returns the memory, or null where there is none. The memory type (TRITONSERVER_MemoryType) and its number are
    /// what is asked for, and what is given when it returns.
    using AllocateFunction = void* (*)(void* user, const char* name, std::uint64_t byte_size, std::int32_t* memory_type,
                                       std::int64_t* memory_type_id);
    /// Called once for each memory that the other one has returned.
    using FreeFunction = void (*)(void* user, void* data, std::uint64_t byte_size, std::int32_t memory_type,
                                  std::int64_t memory_type_id);

    /// `owner` is kept for as long as the functions may be called.
    NativeMemoryAllocator(AllocateFunction allocate_function, FreeFunction free_function, void* user, Ref<Buffer> owner)
        : allocate_(allocate_function), free_(free_function), user_(user), owner_(std::move(owner)) {}

    Ref<Buffer> allocate(const char* name, std::size_t byte_size, const MemoryPlace& wanted) override;

    void free(const Buffer& memory) const noexcept;

    const Ref<Buffer>& owner() const noexcept { return owner_; }

  private:
    const AllocateFunction allocate_;
    const FreeFunction free_;
    void* const user_;
    const Ref<Buffer> owner_;
};

}  // namespace triton_inprocess
