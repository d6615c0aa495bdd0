// Every shared memory pool that this process has open: for handles, for forks and for the end of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace triton_inprocess {

class SharedMemoryPool;

class SharedMemoryRegistry {
  public:
    static SharedMemoryRegistry& instance();

    void add(SharedMemoryPool& pool);
    /// Ends what the pool does for others; called by its destructor.
    void remove(SharedMemoryPool& pool) noexcept;

    /// A pool of that segment, or null.
    std::shared_ptr<SharedMemoryPool> find(std::uint64_t segment_id);

    /// The process ends: names are removed that nobody else uses. The memory stays, threads may still be in it.
    void leave() noexcept;

  private:
    static void before_fork() noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;

    std::mutex mutex_;
    std::vector<SharedMemoryPool*> pools_;
};

}  // namespace triton_inprocess
