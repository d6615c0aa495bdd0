#include "tensor/shared_heap.h"

#include <algorithm>
#include <new>
#include <string>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free, "a lock would be of one process only");

/// Differs from block to block, so that neither zeros nor a copy of another header pass for one.
std::uint64_t seal_of(std::uint64_t offset) noexcept {
    return offset ^ 0x6b636f6c62207d54U;
}

[[noreturn]] void damaged(std::uint64_t offset) {
    throw Error(TRITONSERVER_ERROR_INTERNAL, "the shared memory pool is damaged at offset " + std::to_string(offset) +
                                                 " of its blocks: somebody has written where no tensor of his is");
}

}  // namespace

struct SharedHeap::Header {
    Word seal;
    Word size;  ///< Header included; where the next block begins.
    Word byte_size;
    Word id;
    std::array<Word, word_count> holders;

    bool free() const noexcept {
        return std::all_of(holders.begin(), holders.end(), [](const Word& word) { return word.load() == 0; });
    }
};

SharedHeap::Header& SharedHeap::at(std::uint64_t offset) const noexcept {
    static_assert(sizeof(Header) == header_size);
    return *reinterpret_cast<Header*>(memory_ + offset);
}

std::uint64_t SharedHeap::size_at(std::uint64_t offset) const {
    // Offset and size stay multiples of the alignment, so that a header that begins in the heap ends in it, too.
    const Header& header = at(offset);
    const std::uint64_t size = header.size.load();
    if (header.seal.load() != seal_of(offset) || size < header_size || size % alignment != 0 || size > size_ - offset) {
        damaged(offset);
    }
    return size;
}

template <typename Visit>
void SharedHeap::for_each(Visit visit) const {
    for (std::uint64_t offset = 0; offset < size_;) {
        const std::uint64_t size = size_at(offset);
        visit(at(offset), offset, size);
        offset += size;
    }
}

void SharedHeap::make_free(std::uint64_t offset, std::uint64_t size) noexcept {
    auto* const header = new (memory_ + offset) Header{};  // NOLINT(cppcoreguidelines-owning-memory): in place
    header->size.store(size);
    header->seal.store(seal_of(offset));
}

void SharedHeap::format() noexcept {
    make_free(0, size_);
}

void SharedHeap::check() const {
    for_each([](const Header&, std::uint64_t, std::uint64_t) {});
}

std::optional<SharedHeap::Block> SharedHeap::allocate(std::size_t byte_size, std::uint64_t id, std::size_t holder) {
    if (byte_size > size_) {
        return std::nullopt;
    }
    const std::uint64_t needed = header_size + (byte_size + alignment - 1) / alignment * alignment;
    for (std::uint64_t offset = 0; offset < size_;) {
        Header& header = at(offset);
        std::uint64_t size = size_at(offset);
        if (!header.free()) {
            offset += size;
            continue;
        }
        // Free neighbours become one.
        while (offset + size < size_ && at(offset + size).free()) {
            size += size_at(offset + size);
        }
        header.size.store(size);
        if (size < needed) {
            offset += size;
            continue;
        }
        if (size > needed) {
            // The rest is a block before it is in the chain.
            make_free(offset + needed, size - needed);
            header.size.store(needed);
        }
        header.byte_size.store(byte_size);
        header.id.store(id);
        header.holders[holder / 64].store(std::uint64_t{1} << (holder % 64));
        return Block{offset, byte_size, id};
    }
    return std::nullopt;
}

SharedHeap::Block SharedHeap::hold(std::uint64_t id, std::uint64_t data, std::size_t byte_size, std::size_t holder) {
    for (std::uint64_t offset = 0; offset < size_;) {
        const std::uint64_t size = size_at(offset);
        // Where a block is empty, its data begin where the next block does.
        if (data < offset + header_size || data - header_size - offset >= size) {
            offset += size;
            continue;
        }
        Header& header = at(offset);
        const Block block = {offset, header.byte_size.load(), header.id.load()};
        if (block.id != id || header.free()) {
            break;
        }
        if (block.byte_size > size - header_size) {
            damaged(offset);
        }
        const std::uint64_t start = data - block.data();
        if (start > block.byte_size || byte_size > block.byte_size - start) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                        "the shared tensor has " + std::to_string(byte_size) + " bytes from byte " +
                            std::to_string(start) + " of its block on, which has " + std::to_string(block.byte_size));
        }
        // Nobody can allocate meanwhile: even if all others let go now, the block is as it was.
        header.holders[holder / 64].fetch_or(std::uint64_t{1} << (holder % 64));
        return block;
    }
    throw Error(
        TRITONSERVER_ERROR_NOT_FOUND,
        "the shared tensor is no more: everybody who held it has let go of it. Whoever sends a SharedTensor has "
        "to keep it until the receiver has opened it");
}

void SharedHeap::release(std::uint64_t offset, std::size_t holder) noexcept {
    at(offset).holders[holder / 64].fetch_and(~(std::uint64_t{1} << (holder % 64)));
}

SharedHeap::Holders SharedHeap::holders() const {
    Holders all = {};
    for_each([&](const Header& header, std::uint64_t, std::uint64_t) {
        for (std::size_t i = 0; i < word_count; ++i) {
            all[i] |= header.holders[i].load();
        }
    });
    return all;
}

void SharedHeap::remove(const Holders& holders) {
    for_each([&](Header& header, std::uint64_t, std::uint64_t) {
        for (std::size_t i = 0; i < word_count; ++i) {
            header.holders[i].fetch_and(~holders[i]);
        }
    });
}

void SharedHeap::copy_holder(std::size_t holder, std::size_t copy) {
    const std::uint64_t bit = std::uint64_t{1} << (copy % 64);
    for_each([&](Header& header, std::uint64_t, std::uint64_t) {
        if ((header.holders[holder / 64].load() >> (holder % 64) & 1) != 0) {
            header.holders[copy / 64].fetch_or(bit);
        } else {
            header.holders[copy / 64].fetch_and(~bit);
        }
    });
}

SharedHeap::Space SharedHeap::space() const {
    Space result;
    std::uint64_t piece = 0;
    for_each([&](const Header& header, std::uint64_t, std::uint64_t size) {
        piece = header.free() ? piece + size : 0;
        result.free += header.free() ? size : 0;
        if (piece >= header_size) {
            result.largest = std::max<std::size_t>(result.largest, piece - header_size);
        }
    });
    return result;
}

}  // namespace triton_inprocess
