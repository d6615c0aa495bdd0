// Traces that are done, on their way to whoever wants all of a server's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/trace_record.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class TraceQueue final : public RefCounted {
  public:
    /// What has come since the last look, and how many more came after them that there was no room for.
    struct Batch {
        std::vector<Ref<TraceRecord>> traces;
        std::uint64_t dropped = 0;
    };

    /// Holds at most `capacity` traces; those that come when it is full are counted and dropped.
    explicit TraceQueue(std::size_t capacity) noexcept : capacity_(capacity) {}

    /// A trace has begun, which will come.
    void expect() noexcept;
    void push(Ref<TraceRecord> trace) noexcept;

    /// Sleeps until there is something to take; false once the queue is closed and empty, and nothing will come.
    bool wait() noexcept;

    /// Takes what is there, which may be nothing.
    Batch take() noexcept;

    /// Nothing begins any more. What is in flight is waited for, at most as long as a trace takes after its response.
    void close() noexcept;

  private:
    using Clock = std::chrono::steady_clock;

    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Batch batch_;
    std::int64_t in_flight_ = 0;
    bool closed_ = false;
    Clock::time_point end_;
};

}  // namespace triton_inprocess
