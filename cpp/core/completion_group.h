// Wakes one thread that waits for many requests: once for several responses, instead of for each.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "core/response_listener.h"
#include "core/response_queue.h"

namespace triton_inprocess {

class CompletionGroup final : public ResponseListener {
  public:
    void notify(Ref<ResponseQueue> queue) noexcept override;

    /// Sleeps until so many queues are ready, or the time is over.
    void wait_for(std::size_t count, std::chrono::nanoseconds time) noexcept;

    /// The queues that have become ready since the last call.
    std::vector<Ref<ResponseQueue>> take() noexcept;

  private:
    std::mutex mutex_;
    std::condition_variable enough_;
    std::size_t wanted_ = 0;  ///< 0 while nobody sleeps.
    std::vector<Ref<ResponseQueue>> ready_;
};

}  // namespace triton_inprocess
