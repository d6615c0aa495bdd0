// Responses on their way from Triton's threads to the one thread that waits for them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "abi/types.h"

namespace triton_inprocess::benchmarks {

class CompletionQueue {
  public:
    /// Room for `capacity` responses, so that no push needs memory.
    explicit CompletionQueue(std::size_t capacity);

    void push(TRITONSERVER_InferenceResponse* response);

    /// Waits for at least one response and puts all that are ready into `responses`, which is emptied first.
    void drain(std::vector<TRITONSERVER_InferenceResponse*>& responses);

  private:
    std::mutex mutex_;
    std::condition_variable ready_;
    bool waiting_ = false;
    std::vector<TRITONSERVER_InferenceResponse*> responses_;
};

}  // namespace triton_inprocess::benchmarks
