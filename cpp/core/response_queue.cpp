#include "core/response_queue.h"

#include <utility>

#include "core/adaptive_spin.h"
#include "tensor/deferred_release.h"
#include "tensor/unlocked_wait.h"

namespace triton_inprocess {

ResponseQueue::ResponseQueue(Ref<ResponseQueue> second) : second_(std::move(second)) {}

ResponseQueue::ResponseQueue(Bound bound) : bound_(bound), reader_(std::this_thread::get_id()) {}

ResponseQueue::~ResponseQueue() {
    // One by one: the chain's own destructors would recurse once per response.
    while (pop()) {
    }
}

ResponseQueue::Room ResponseQueue::wait_for_room(std::unique_lock<std::mutex>& lock) noexcept {
    bool expired = false;
    while (!has_room()) {
        if (reader_ == std::this_thread::get_id()) {
            return Room::refused;
        }
        // Python's lock, which a function's thread may have, is never taken back while this one is held: the reader
        // takes them in the other order.
        lock.unlock();
        {
            const UnlockedWait unlocked;
            std::unique_lock<std::mutex> waiting(mutex_);
            if (bound_.deadline) {
                left_.wait_until(waiting, *bound_.deadline, [this] { return has_room(); });
            } else {
                left_.wait(waiting, [this] { return has_room(); });
            }
            expired = !has_room();
            open_ = open_ || expired;
            dropping_ = dropping_ || expired;
        }
        lock.lock();
    }
    return expired ? Room::expired : Room::there;
}

std::unique_ptr<InferenceResponse> ResponseQueue::refusal(const InferenceResponse& response) const noexcept {
    auto refused = std::make_unique<InferenceResponse>();
    refused->model_name = response.model_name;
    refused->model_version = response.model_version;
    refused->request_id = response.request_id;
    refused->empty = false;
    refused->error.emplace(TRITONSERVER_ERROR_UNSUPPORTED,
                           "the model responds on the thread that reads its responses, which cannot wait for itself: "
                           "max_pending_responses=" +
                               std::to_string(bound_.limit) + " is for a reader on another thread");
    return refused;
}

bool ResponseQueue::push(std::unique_ptr<InferenceResponse> response) noexcept {
    if (second_) {
        second_->push(response->copy());
    }
    // Neither goes while the lock is held: a response may own Python objects.
    std::unique_ptr<InferenceResponse> refused;
    Ref<ResponseListener> listener;
    bool sleepers = false;
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const Room room = bounded() && !response->final ? wait_for_room(lock) : Room::there;
        if (dropping_) {
            lock.unlock();
            response.reset();
            DeferredRelease::ask();  // no reader comes for what was put aside
            return room != Room::expired;
        }
        if (room == Room::refused) {
            refused = std::exchange(response, refusal(*response));
        }
        InferenceResponse* const added = response.get();
        (last_ == nullptr ? first_ : last_->next) = std::move(response);
        last_ = added;
        there_.store(true, std::memory_order_release);
        count_ += bounded() ? 1 : 0;
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
    return true;
}

void ResponseQueue::open() noexcept {
    {
        const std::scoped_lock guard(mutex_);
        open_ = true;
    }
    left_.notify_all();
}

void ResponseQueue::relax() noexcept {
    {
        const std::scoped_lock guard(mutex_);
        relaxed_ = true;
    }
    left_.notify_all();
}

void ResponseQueue::close() noexcept {
    std::unique_ptr<InferenceResponse> first;
    {
        const std::scoped_lock guard(mutex_);
        open_ = dropping_ = true;
        first = std::move(first_);
        last_ = nullptr;
        there_.store(false, std::memory_order_release);
        count_ = 0;
    }
    left_.notify_all();
    // Unlocked, for a response may own Python objects; and one by one, as in the destructor.
    while (first) {
        first = std::move(first->next);
    }
}

void ResponseQueue::note_reader() noexcept {
    if (bounded()) {
        reader_ = std::this_thread::get_id();
        relaxed_ = false;
    }
}

std::unique_ptr<InferenceResponse> ResponseQueue::pop() noexcept {
    std::unique_ptr<InferenceResponse> response;
    {
        const std::scoped_lock guard(mutex_);
        note_reader();
        response = std::move(first_);
        if (response) {
            first_ = std::move(response->next);
            if (!first_) {
                last_ = nullptr;
                there_.store(false, std::memory_order_release);
            }
            count_ -= bounded() ? 1 : 0;
        }
    }
    if (bounded() && response) {
        left_.notify_one();
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
    note_reader();
    ++sleepers_;
    const bool arrived = arrived_.wait_for(lock, time, [this] { return first_ != nullptr; });
    --sleepers_;
    spin.slept(AdaptiveSpin::Clock::now() - start);
    return arrived;
}

bool ResponseQueue::watch(Ref<ResponseListener> listener, void* waiter) noexcept {
    const std::scoped_lock guard(mutex_);
    note_reader();
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
