// Output buffers that are made once and used over and over, as a binding would.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace triton_inprocess::benchmarks {

class BufferPool {
  public:
    /// Makes `count` buffers of `byte_size` bytes; more of them are made when all are in use.
    BufferPool(std::size_t byte_size, std::size_t count);

    std::size_t byte_size() const noexcept { return byte_size_; }

    /// A buffer for the caller alone, until `give_back`. Both may be called from any thread.
    void* take();
    void give_back(void* buffer) noexcept;

  private:
    void add_buffer();

    std::size_t byte_size_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::byte[]>> buffers_;
    std::vector<void*> free_;
};

}  // namespace triton_inprocess::benchmarks
