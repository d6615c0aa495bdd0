// The responses of one request, in their order, from Triton's threads to whoever waits for them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/inference_response.h"
#include "core/response_listener.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class ResponseQueue final : public RefCounted {
  public:
    using Clock = std::chrono::steady_clock;

    /// How many responses may wait to be fetched. Whoever brings one more, Triton's thread, waits for room; until the
    /// deadline, from which on nobody will fetch them.
    struct Bound {
        std::size_t limit = 0;
        std::optional<Clock::time_point> deadline;
    };

    /// With `second`, every response goes there, too.
    explicit ResponseQueue(Ref<ResponseQueue> second = nullptr);

    /// With room for some responses only; the calling thread is the first one to read them.
    explicit ResponseQueue(Bound bound);
    ~ResponseQueue() override;

    /// Waits for room, where there is a bound; the last response and errors of the queue's own never wait. A response
    /// that comes on the thread that reads, with no room left, becomes an error: nobody could make room meanwhile.
    /// False once the deadline has passed during the wait.
    bool push(std::unique_ptr<InferenceResponse> response) noexcept;

    bool bounded() const noexcept { return bound_.limit != 0; }

    /// From now on nobody waits for room.
    void open() noexcept;

    /// The same, until somebody asks for a response again: who asked before may do so, or never.
    void relax() noexcept;

    /// Nobody will fetch anything any more: what is here and what is still to come is dropped.
    void close() noexcept;

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
    enum class Room { there, refused, expired };

    bool there() const noexcept { return there_.load(std::memory_order_acquire); }
    Room wait_for_room(std::unique_lock<std::mutex>& lock) noexcept;
    bool has_room() const noexcept { return count_ < bound_.limit || open_ || relaxed_; }
    void note_reader() noexcept;
    std::unique_ptr<InferenceResponse> refusal(const InferenceResponse& response) const noexcept;

    const Ref<ResponseQueue> second_;
    const Bound bound_;
    std::atomic<bool> there_{false};  ///< Whether there is a first one; changed with the lock held.
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::condition_variable left_;
    std::unique_ptr<InferenceResponse> first_;
    InferenceResponse* last_ = nullptr;
    int sleepers_ = 0;
    std::size_t count_ = 0;   ///< Of responses; only where there is a bound …
    std::thread::id reader_;  ///< … as is the thread that asked last …
    bool open_ = false;       ///< … and whether it is off.
    bool relaxed_ = false;
    bool dropping_ = false;
    Ref<ResponseListener> listener_;
    void* waiter_ = nullptr;
};

}  // namespace triton_inprocess
