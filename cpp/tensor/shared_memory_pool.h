// Shared memory that several processes allocate tensors in.
//
// The processes agree by locks on bytes of the segment's file (see byte_lock.h), which end with whoever holds them:
// one that everybody shares who uses the segment, one for whoever changes the heap, and one for each holder of blocks.
// A holder whose byte nobody locks is dead; what it held is free as soon as somebody looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tensor/shared_buffer.h"
#include "tensor/shared_heap.h"
#include "tensor/shared_memory_segment.h"

namespace triton_inprocess {

class SharedMemoryPool : public std::enable_shared_from_this<SharedMemoryPool> {
    struct Private {
        explicit Private() = default;
    };

  public:
    /// Makes a segment for tensors of `byte_size` bytes, rounded up to whole pages; an empty key means a name of its
    /// own. Throws ALREADY_EXISTS for a name in use. What dead processes have left behind is removed first.
    static std::shared_ptr<SharedMemoryPool> create(const std::string& key, std::size_t byte_size);

    /// Throws NOT_FOUND when there is none of that name or all who used it are dead, INVALID_ARG when it is no pool.
    static std::shared_ptr<SharedMemoryPool> open(const std::string& key);

    /// The pool of a handle: one that this process has open, or else opened now. Throws NOT_FOUND when the name is by
    /// now that of another.
    static std::shared_ptr<SharedMemoryPool> open(const std::string& key, std::uint64_t segment_id);

    SharedMemoryPool(Private /*unused*/, std::string name, SharedMemorySegment segment);
    ~SharedMemoryPool();
    SharedMemoryPool(const SharedMemoryPool&) = delete;
    SharedMemoryPool& operator=(const SharedMemoryPool&) = delete;

    /// Without the slash in front of it.
    const std::string& name() const noexcept { return name_; }
    std::uint64_t segment_id() const noexcept { return segment_id_; }

    /// Bytes for tensors. Each takes its size, rounded up to 64, and 64 more.
    std::size_t byte_size() const noexcept { return heap_size_; }

    /// How many of those bytes nobody uses, in pieces of any size. What dead processes held counts as free.
    std::size_t free_byte_size();

    /// Uninitialised memory; throws UNAVAILABLE when no free piece is large enough.
    Ref<SharedBuffer> allocate(std::size_t byte_size);

    /// Bytes of a block that somebody holds; see SharedHeap::hold. `offset` counts from the start of the segment.
    Ref<SharedBuffer> hold(std::uint64_t id, std::uint64_t offset, std::size_t byte_size, bool read_only);

    /// Of an address in the pool, from the start of the segment.
    std::uint64_t offset_of(const void* address) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const char*>(address) -
                                          static_cast<const char*>(segment_.data()));
    }

    /// Removes the name: nobody can open the segment any more, but those who have it may go on.
    void unlink();

  private:
    friend class SharedBuffer;
    friend class SharedMemoryRegistry;
    class Operation;

    void claim_holder();
    void drop_dead_holders();
    void bind(SharedBuffer& buffer, const SharedHeap::Block& block, std::uint64_t data, std::size_t byte_size);
    void release(const SharedHeap::Block& block) noexcept;

    /// Stops using the name, which is removed if nobody else uses the segment. What is held stays held.
    void leave() noexcept;

    // A child gets a holder of its own, which holds what the parent's does; it is made before there is a child, so that
    // nothing is free in between. If that fails, the child's pool only raises.
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept;
    void after_fork_in_child() noexcept;

    std::string name_;
    SharedMemorySegment segment_;
    std::uint64_t segment_id_ = 0;
    std::size_t heap_size_;
    SharedHeap heap_;
    std::size_t holder_ = 0;
    bool left_ = false;
    bool orphaned_ = false;       ///< Whether this is a child without a holder of its own.
    std::mutex operation_mutex_;  ///< For the threads of this process, which share the locks on bytes.
    std::mutex held_mutex_;       ///< Nobody waits for another process with this.
    std::unordered_map<std::uint64_t, std::size_t> held_;  ///< Buffers of this process, by the offset of their block.
    FileDescriptor child_descriptor_;
    std::size_t child_holder_ = 0;
};

}  // namespace triton_inprocess
