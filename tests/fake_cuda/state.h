// The one driver of the process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "memory.h"
#include "work.h"

namespace fake_cuda {

constexpr int most_devices = 8;

struct State {
    static State& instance();

    std::mutex mutex;
    std::int64_t process = 0;  ///< That called cuInit; 0 before.
    int devices = 2;
    bool memory_pools = true;
    Memory memory;
    Work work{memory};
    std::array<CUctx_st, most_devices> contexts;
    std::array<bool, most_devices> retained = {};
    std::atomic<std::uint32_t> delay{0};  ///< In milliseconds.
    std::set<CUstream> streams;
    std::set<CUevent> events;

    /// The stream that a handle means in that context, or null.
    CUstream find(CUstream handle, CUcontext context);
};

/// The contexts that the calling thread has pushed.
std::vector<CUcontext>& pushed();

}  // namespace fake_cuda
