#include "core/response_queue.h"

#include <utility>

#include "core/adaptive_spin.h"

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
    Ref<ResponseListener> listener;
    bool sleepers = false;
    {
        const std::scoped_lock guard(mutex_);
        InferenceResponse* const added = response.get();
        (last_ == nullptr ? first_ : last_->next) = std::move(response);
        last_ = added;
        there_.store(true, std::memory_order_release);
        listener = std::move(listener_);
        sleepers = sleepers_ > 0;
    }
    // After unlocking, or the woken thread would run into the lock at once.
    if (sleepers) {
        arrived_.notify_all();
    }
    if (listener) {
        listener->notify(Ref<ResponseQueue>(this));
    }
}

std::unique_ptr<InferenceResponse> ResponseQueue::pop() noexcept {
    const std::scoped_lock guard(mutex_);
    std::unique_ptr<InferenceResponse> response = std::move(first_);
    if (response) {
        first_ = std::move(response->next);
        if (!first_) {
            last_ = nullptr;
            there_.store(false, std::memory_order_release);
        }
    }
    return response;
}

bool ResponseQueue::wait_for(std::chrono::nanoseconds time) noexcept {
    thread_local AdaptiveSpin spin;
    if (spin.until([this] { return there(); })) {
        return true;
    }
    const auto start = AdaptiveSpin::Clock::now();
    std::unique_lock<std::mutex> lock(mutex_);
    ++sleepers_;
    const bool arrived = arrived_.wait_for(lock, time, [this] { return first_ != nullptr; });
    --sleepers_;
    spin.slept(AdaptiveSpin::Clock::now() - start);
    return arrived;
}

bool ResponseQueue::watch(Ref<ResponseListener> listener, void* waiter) noexcept {
    const std::scoped_lock guard(mutex_);
    if (first_) {
        return false;
    }
    listener_ = std::move(listener);
    waiter_ = waiter;
    return true;
}

void* ResponseQueue::waiter() const noexcept {
    const std::scoped_lock guard(mutex_);
    return waiter_;
}

void ResponseQueue::unwatch() noexcept {
    Ref<ResponseListener> listener;
    const std::scoped_lock guard(mutex_);
    listener = std::move(listener_);
    waiter_ = nullptr;
}

}  // namespace triton_inprocess
