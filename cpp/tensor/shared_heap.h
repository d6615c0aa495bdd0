// An allocator whose whole state lies in the memory that it hands out, so that several processes can use it.
//
// The memory is a chain of blocks, each with a header in front of it. Who uses a block is a set of holders in its
// header, one bit for each; a block without holders is free. There is no list of free blocks and no other state.
// Every change takes effect by one store of eight bytes: splitting and merging by that of a size, allocating and
// freeing by that of a bit. So a process may be killed between any two instructions and leaves a chain that is whole.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace triton_inprocess {

/// Offsets count from the start of the heap. All but `release` are to be called by one at a time (of all threads of all
/// processes). What is read from the memory is checked before it is used: INTERNAL is thrown where it is damaged.
class SharedHeap {
  public:
    static constexpr std::size_t alignment = 64;
    static constexpr std::size_t header_size = 64;  ///< What a block needs besides its bytes.
    static constexpr std::size_t word_count = 4;
    static constexpr std::size_t holder_count = word_count * 64;

    using Holders = std::array<std::uint64_t, word_count>;
    static bool contains(const Holders& holders, std::size_t holder) noexcept {
        return (holders[holder / 64] >> (holder % 64) & 1) != 0;
    }

    struct Block {
        std::uint64_t offset;     ///< Of the header.
        std::uint64_t byte_size;  ///< What was asked for.
        std::uint64_t id;
        std::uint64_t data() const noexcept { return offset + header_size; }
    };

    struct Space {
        std::size_t free = 0;     ///< Headers of free blocks included.
        std::size_t largest = 0;  ///< The largest `byte_size` that can be allocated.
    };

    /// `memory` is aligned to `alignment`, and so is its size.
    SharedHeap(void* memory, std::size_t byte_size) noexcept : memory_(static_cast<char*>(memory)), size_(byte_size) {}

    /// Makes it one free block.
    void format() noexcept;

    /// Goes through the whole chain.
    void check() const;

    /// A block of `byte_size` bytes that `holder` holds, called `id`; nothing if no free piece is large enough.
    std::optional<Block> allocate(std::size_t byte_size, std::uint64_t id, std::size_t holder);

    /// Makes `holder` one of the holders of the block `id`, in which the bytes from `data` on lie. Throws NOT_FOUND
    /// when the block is no more and INVALID_ARG when the bytes are not in it.
    Block hold(std::uint64_t id, std::uint64_t data, std::size_t byte_size, std::size_t holder);

    /// Ends what `allocate` or `hold` began; `offset` is that of the block. May be called at any time.
    void release(std::uint64_t offset, std::size_t holder) noexcept;

    /// Everybody who holds any block.
    Holders holders() const;

    /// Ends all that these hold.
    void remove(const Holders& holders);

    /// `copy` holds what `holder` holds, and nothing else.
    void copy_holder(std::size_t holder, std::size_t copy);

    Space space() const;

  private:
    struct Header;

    Header& at(std::uint64_t offset) const noexcept;
    std::uint64_t size_at(std::uint64_t offset) const;
    void make_free(std::uint64_t offset, std::uint64_t size) noexcept;
    template <typename Visit>
    void for_each(Visit visit) const;

    char* memory_;
    std::size_t size_;
};

}  // namespace triton_inprocess
