// What streams have been given. Nothing is done before somebody waits for it, so that a wait that is missing shows.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "abi/cuda.h"
#include "memory.h"

namespace fake_cuda {

struct Operation {
    CUcontext context = nullptr;
    std::vector<std::shared_ptr<Operation>> after;  ///< What must be done before.
    std::vector<std::uintptr_t> uses;               ///< The allocations that it reads and writes.
    std::function<void()> action;
    bool done = false;
};

}  // namespace fake_cuda

struct CUstream_st {
    CUcontext context = nullptr;
    bool ordered_with_default = true;
    std::shared_ptr<fake_cuda::Operation> last;
};

struct CUevent_st {
    CUcontext context = nullptr;
    std::shared_ptr<fake_cuda::Operation> point;
};

struct CUctx_st {
    int device = 0;
    CUstream_st default_stream;
    CUstream_st thread_stream;  ///< One for all threads.
    std::set<CUstream> streams;
};

namespace fake_cuda {

/// Not locked: State is.
class Work {
  public:
    explicit Work(Memory& memory) : memory_(memory) {}

    std::shared_ptr<Operation> put(CUstream stream, std::function<void()> action, std::vector<std::uintptr_t> uses);
    void wait(const std::shared_ptr<Operation>& operation);
    void wait_for_all(CUcontext context);
    /// Whether something pending uses the allocation.
    bool uses(std::uintptr_t allocation) const;
    std::uint64_t pending() const { return pending_.size(); }

  private:
    Memory& memory_;
    std::vector<std::shared_ptr<Operation>> pending_;
};

}  // namespace fake_cuda
