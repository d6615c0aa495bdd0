#include "core/trace_queue.h"

#include <utility>

namespace triton_inprocess {
namespace {

// A trace is released microseconds after the last response; one of a request that hangs must not keep a stop.
constexpr std::chrono::seconds grace(1);

}  // namespace

void TraceQueue::expect() noexcept {
    const std::scoped_lock guard(mutex_);
    ++in_flight_;
}

void TraceQueue::push(Ref<TraceRecord> trace) noexcept {
    const std::scoped_lock guard(mutex_);
    --in_flight_;
    // Once one was dropped, so are all until somebody takes what is there: what is dropped comes after what is kept.
    if (batch_.dropped != 0 || batch_.traces.size() >= capacity_) {
        ++batch_.dropped;
    } else {
        batch_.traces.push_back(std::move(trace));
    }
    changed_.notify_all();
}

bool TraceQueue::wait() noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto something = [this] { return !batch_.traces.empty() || batch_.dropped != 0; };
    changed_.wait(lock, [&] { return closed_ || something(); });
    changed_.wait_until(lock, end_, [&] { return something() || in_flight_ <= 0; });
    return something();
}

TraceQueue::Batch TraceQueue::take() noexcept {
    const std::scoped_lock guard(mutex_);
    return std::exchange(batch_, {});
}

void TraceQueue::close() noexcept {
    const std::scoped_lock guard(mutex_);
    if (!closed_) {
        closed_ = true;
        end_ = Clock::now() + grace;
        changed_.notify_all();
    }
}

}  // namespace triton_inprocess
