// Letting go of a GPU's memory waits for the GPU, in a destructor, which may be called with a lock that the GPU's work
// needs to go on: Python's, for a function that a stream calls. It is given up meanwhile. So it is by who waits for a
// response's reader, which needs it, too.
#pragma once

namespace triton_inprocess {

class UnlockedWait {
  public:
    /// What gives the lock up, and what takes it back from what that returned. `unlock` returns null where the thread
    /// does not have the lock.
    struct Lock {
        void* (*unlock)() noexcept;
        void (*relock)(void*) noexcept;
    };

    UnlockedWait() noexcept;
    ~UnlockedWait();
    UnlockedWait(const UnlockedWait&) = delete;
    UnlockedWait& operator=(const UnlockedWait&) = delete;

    /// Called once; `lock` lasts until the process ends.
    static void set_lock(const Lock* lock) noexcept;

  private:
    const Lock* lock_;
    void* state_;
};

}  // namespace triton_inprocess
