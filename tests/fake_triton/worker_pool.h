// The fake's own threads, which execute requests when their time has come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace fake_triton {

class WorkerPool {
  public:
    explicit WorkerPool(std::size_t threads);
    /// Executes what is left, at once, and ends the threads.
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    /// Executes `task` after `delay`; `owner` is what it can be hurried by.
    void post(const void* owner, std::chrono::milliseconds delay, std::function<void()> task);

    /// Has the tasks of `owner` wait no longer.
    void hurry(const void* owner);

  private:
    using Clock = std::chrono::steady_clock;
    struct Task {
        const void* owner;
        Clock::time_point due;
        std::function<void()> run;
    };

    void work();
    std::list<Task>::iterator earliest();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Task> tasks_;
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace fake_triton
