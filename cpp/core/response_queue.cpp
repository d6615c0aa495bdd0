#include "core/response_queue.h"

#include <utility>

#include "core/completion_hub.h"

namespace triton_inprocess {

ResponseQueue::ResponseQueue(Ref<ResponseQueue> second) : second_(std::move(second)) {}

ResponseQueue::~ResponseQueue() {
    // One by one: the chain's own destructors would recurse once per response.
    while (pop()) {
    }
}

void ResponseQueue::push(std::unique_ptr<InferenceResponse> response) noexcept {
    if (second_) {
        second_->push(response->copy());
    }
    Ref<CompletionHub> hub;
    bool sleepers = false;
    {
        const std::scoped_lock guard(mutex_);
        InferenceResponse* const added = response.get();
        (last_ == nullptr ? first_ : last_->next) = std::move(response);
        last_ = added;
        hub = std::move(hub_);
        sleepers = sleepers_ > 0;
    }
    // After unlocking, or the woken thread would run into the lock at once.
    if (sleepers) {
        arrived_.notify_all();
    }
    if (hub) {
        hub->notify(Ref<ResponseQueue>(this));
    }
}

std::unique_ptr<InferenceResponse> ResponseQueue::pop() noexcept {
    const std::scoped_lock guard(mutex_);
    std::unique_ptr<InferenceResponse> response = std::move(first_);
    if (response) {
        first_ = std::move(response->next);
        if (!first_) {
            last_ = nullptr;
        }
    }
    return response;
}

bool ResponseQueue::wait_for(std::chrono::nanoseconds time) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleepers_;
    const bool there = arrived_.wait_for(lock, time, [this] { return first_ != nullptr; });
    --sleepers_;
    return there;
}

bool ResponseQueue::watch(Ref<CompletionHub> hub, void* waiter) noexcept {
    const std::scoped_lock guard(mutex_);
    if (first_) {
        return false;
    }
    hub_ = std::move(hub);
    waiter_ = waiter;
    return true;
}

void* ResponseQueue::waiter() const noexcept {
    const std::scoped_lock guard(mutex_);
    return waiter_;
}

void ResponseQueue::unwatch() noexcept {
    Ref<CompletionHub> hub;
    const std::scoped_lock guard(mutex_);
    hub = std::move(hub_);
    waiter_ = nullptr;
}

}  // namespace triton_inprocess
