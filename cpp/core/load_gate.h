// Who may load models: nobody once the server is being stopped, and the stop waits for the loads in progress.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace triton_inprocess {

class LoadGate {
  public:
    using Deadline = std::chrono::steady_clock::time_point;

    /// A load in progress, for as long as this object lives.
    class Pass {
      public:
        explicit Pass(LoadGate& gate);
        ~Pass();
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;

      private:
        LoadGate& gate_;
    };

    /// Lets nobody in any more and waits until the last load has ended (true) or the time is over (false).
    bool close(Deadline deadline) noexcept;

  private:
    std::mutex mutex_;
    std::condition_variable left_;
    std::size_t inside_ = 0;
    bool closed_ = false;
};

}  // namespace triton_inprocess
