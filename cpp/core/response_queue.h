// The responses of one request, in their order, from Triton's threads to whoever waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "core/inference_response.h"
#include "core/response_listener.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class ResponseQueue final : public RefCounted {
  public:
    /// With `second`, every response goes there, too.
    explicit ResponseQueue(Ref<ResponseQueue> second = nullptr);
    ~ResponseQueue() override;

    void push(std::unique_ptr<InferenceResponse> response) noexcept;

    /// The oldest response, or null if none is there.
    std::unique_ptr<InferenceResponse> pop() noexcept;

    /// Waits until a response is there (true) or the time is over (false).
    bool wait_for(std::chrono::nanoseconds time) noexcept;

    /// Has `listener` told of the next response. `waiter` comes back from `waiter()` then; it is not touched here.
    /// False when a response is there already: nothing will be told.
    bool watch(Ref<ResponseListener> listener, void* waiter) noexcept;

    void* waiter() const noexcept;

    /// Nobody waits any more.
    void unwatch() noexcept;

  private:
    bool there() const noexcept { return there_.load(std::memory_order_acquire); }

    const Ref<ResponseQueue> second_;
    std::atomic<bool> there_{false};  ///< Whether there is a first one; changed with the lock held.
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::unique_ptr<InferenceResponse> first_;
    InferenceResponse* last_ = nullptr;
    int sleepers_ = 0;
    Ref<ResponseListener> listener_;
    void* waiter_ = nullptr;
};

}  // namespace triton_inprocess
