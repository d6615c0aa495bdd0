#include "completion_queue.h"

namespace triton_inprocess::benchmarks {

CompletionQueue::CompletionQueue(std::size_t capacity) {
    responses_.reserve(capacity);
}

void CompletionQueue::push(TRITONSERVER_InferenceResponse* response) {
    bool wake = false;
    {
        const std::lock_guard<std::mutex> guard(mutex_);
        responses_.push_back(response);
        wake = waiting_;
        waiting_ = false;
    }
    if (wake) {
        ready_.notify_one();
    }
}

void CompletionQueue::drain(std::vector<TRITONSERVER_InferenceResponse*>& responses) {
    responses.clear();
    std::unique_lock<std::mutex> lock(mutex_);
    while (responses_.empty()) {
        waiting_ = true;
        ready_.wait(lock);
    }
    waiting_ = false;
    responses_.swap(responses);
}

}  // namespace triton_inprocess::benchmarks
