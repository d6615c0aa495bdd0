#include "dropped.h"

#include <thread>
#include <utility>

namespace fake_triton {

Dropped& Dropped::instance() {
    // Never destroyed: what is in it keeps the objects reachable, so that a leak checker does not complain of them.
    static auto* const dropped = new Dropped;
    return *dropped;
}

void Dropped::keep(std::function<void()> callback) {
    const std::scoped_lock guard(mutex_);
    callbacks_.push_back(std::move(callback));
}

std::size_t Dropped::deliver() {
    std::vector<std::function<void()>> callbacks;
    {
        const std::scoped_lock guard(mutex_);
        callbacks.swap(callbacks_);
    }
    std::thread([&callbacks] {
        for (const auto& callback : callbacks) {
            callback();
        }
    }).join();
    return callbacks.size();
}

}  // namespace fake_triton
