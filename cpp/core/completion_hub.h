// Wakes one event loop: collects the queues that have become ready and signals a single file descriptor for all.
#pragma once

#include <mutex>
#include <vector>

#include "core/response_listener.h"
#include "core/response_queue.h"

namespace triton_inprocess {

class CompletionHub final : public ResponseListener {
  public:
    CompletionHub();
    ~CompletionHub() override;

    /// Readable when at least one queue is ready.
    int descriptor() const noexcept { return descriptor_; }

    void notify(Ref<ResponseQueue> queue) noexcept override;

    /// The queues that have become ready since the last call; resets the descriptor.
    std::vector<Ref<ResponseQueue>> take() noexcept;

  private:
    int descriptor_;
    std::mutex mutex_;
    std::vector<Ref<ResponseQueue>> ready_;
};

}  // namespace triton_inprocess
