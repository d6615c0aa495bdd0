#include "tensor/unlocked_wait.h"

#include <atomic>

namespace triton_inprocess {
namespace {

std::atomic<const UnlockedWait::Lock*> known_lock{nullptr};

}  // namespace

UnlockedWait::UnlockedWait() noexcept
    : lock_(known_lock.load(std::memory_order_acquire)), state_(lock_ != nullptr ? lock_->unlock() : nullptr) {}

UnlockedWait::~UnlockedWait() {
    if (state_ != nullptr) {
        lock_->relock(state_);
    }
}

void UnlockedWait::set_lock(const Lock* lock) noexcept {
    known_lock.store(lock, std::memory_order_release);
}

}  // namespace triton_inprocess
