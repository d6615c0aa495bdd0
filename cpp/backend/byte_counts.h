// How many bytes of a model's tensors were copied on their way, and how many were not.
#pragma once

#include <atomic>
#include <cstdint>

namespace triton_inprocess {

/// Counted on any thread. Each byte is counted once: what was copied twice on its way is copied.
struct ByteCounts {
    using Count = std::atomic<std::uint64_t>;

    Count inputs_shared{0};    ///< The function saw the caller's own memory.
    Count inputs_copied{0};    ///< Joined to a batch, of foreign origin, or because the author has asked for copies.
    Count outputs_adopted{0};  ///< The response has the memory that the function returned.
    Count outputs_copied{0};

    static void add(Count& count, std::uint64_t bytes) noexcept { count.fetch_add(bytes, std::memory_order_relaxed); }
};

}  // namespace triton_inprocess
