// Callbacks that were not called, kept for whoever wants to make up for it.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace fake_triton {

class Dropped {
  public:
    static Dropped& instance();

    void keep(std::function<void()> callback);

    /// Calls everything on a thread of its own and waits for that; returns how much there was.
    std::size_t deliver();

  private:
    std::mutex mutex_;
    std::vector<std::function<void()>> callbacks_;
};

}  // namespace fake_triton
