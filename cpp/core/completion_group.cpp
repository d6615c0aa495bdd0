#include "core/completion_group.h"

#include <utility>

namespace triton_inprocess {

void CompletionGroup::notify(Ref<ResponseQueue> queue) noexcept {
    bool enough = false;
    {
        const std::scoped_lock guard(mutex_);
        ready_.push_back(std::move(queue));
        enough = wanted_ != 0 && ready_.size() >= wanted_;
    }
    if (enough) {
        enough_.notify_one();
    }
}

void CompletionGroup::wait_for(std::size_t count, std::chrono::nanoseconds time) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    wanted_ = count;
    enough_.wait_for(lock, time, [&] { return ready_.size() >= count; });
    wanted_ = 0;
}

std::vector<Ref<ResponseQueue>> CompletionGroup::take() noexcept {
    const std::scoped_lock guard(mutex_);
    return std::exchange(ready_, {});
}

}  // namespace triton_inprocess
