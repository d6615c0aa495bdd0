// Which requests of a server are traced though nobody has given them a trace.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/trace_queue.h"
#include "core/trace_record.h"

namespace triton_inprocess {

class Tracer final : public RefCounted {
  public:
    /// Every `rate`th request, the first one included; what is told of it goes to the queue.
    Tracer(Ref<TraceQueue> queue, bool with_tensors, std::uint64_t rate) noexcept
        : queue_(std::move(queue)), with_tensors_(with_tensors), rate_(rate) {}

    /// For the next request; null if it is not traced.
    Ref<TraceRecord> next() const {
        return count_.fetch_add(1, std::memory_order_relaxed) % rate_ == 0
                   ? make_ref<TraceRecord>(with_tensors_, queue_)
                   : nullptr;
    }

  private:
    const Ref<TraceQueue> queue_;
    const bool with_tensors_;
    const std::uint64_t rate_;
    mutable std::atomic<std::uint64_t> count_{0};
};

}  // namespace triton_inprocess
