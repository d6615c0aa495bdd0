// Where the rows of an output lie that several requests share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace triton_inprocess {

/// Where the rows of an output begin, and where the last one ends. Points into the tensor's memory.
class OutputRows {
  public:
    OutputRows(const Tensor& output, std::int64_t rows);

    const char* data(std::size_t row) const noexcept { return data_ + offset(row); }
    std::size_t byte_size(std::size_t first, std::size_t count) const noexcept {
        return offset(first + count) - offset(first);
    }

  private:
    void find_offsets(const Tensor& output);

    std::size_t offset(std::size_t row) const noexcept { return offsets_.empty() ? row * row_size_ : offsets_[row]; }

    std::size_t rows_;
    const char* data_ = nullptr;
    std::size_t row_size_ = 0;
    std::vector<std::size_t> offsets_;  ///< Of BYTES, whose rows differ in length.
};

}  // namespace triton_inprocess
