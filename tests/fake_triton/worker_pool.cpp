#include "worker_pool.h"

#include <algorithm>
#include <utility>

namespace fake_triton {

WorkerPool::WorkerPool(std::size_t threads) {
    for (std::size_t index = 0; index < threads; ++index) {
        threads_.emplace_back(&WorkerPool::work, this);
    }
}

WorkerPool::~WorkerPool() {
    {
        const std::scoped_lock guard(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

void WorkerPool::post(const void* owner, std::chrono::milliseconds delay, std::function<void()> task) {
    const std::scoped_lock guard(mutex_);
    tasks_.push_back({owner, Clock::now() + delay, std::move(task)});
    // Under the lock: the task may end whatever keeps this pool.
    changed_.notify_one();
}

void WorkerPool::hurry(const void* owner) {
    const std::scoped_lock guard(mutex_);
    for (Task& task : tasks_) {
        if (task.owner == owner) {
            task.due = {};
        }
    }
    changed_.notify_all();
}

std::list<WorkerPool::Task>::iterator WorkerPool::earliest() {
    return std::min_element(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) { return a.due < b.due; });
}

void WorkerPool::work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        const auto next = earliest();
        if (next == tasks_.end()) {
            if (ending_) {
                return;
            }
            changed_.wait(lock);
        } else if (!ending_ && next->due > Clock::now()) {
            // A copy: another thread may take the task meanwhile.
            const Clock::time_point due = next->due;
            changed_.wait_until(lock, due);
        } else {
            const std::function<void()> run = std::move(next->run);
            tasks_.erase(next);
            lock.unlock();
            run();
            lock.lock();
        }
    }
}

}  // namespace fake_triton
