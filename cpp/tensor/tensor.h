// A typed, shaped view of a buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/buffer.h"
#include "tensor/data_type.h"

namespace triton_inprocess {

class Tensor {
  public:
    /// Throws INVALID_ARG when the shape needs another number of bytes than the buffer has (BYTES: any number).
    Tensor(DataType data_type, std::vector<std::int64_t> shape, Ref<Buffer> buffer);

    DataType data_type() const noexcept { return data_type_; }
    const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
    const Ref<Buffer>& buffer() const noexcept { return buffer_; }
    std::size_t element_count() const { return triton_inprocess::element_count(shape_.data(), shape_.size()); }

  private:
    DataType data_type_;
    std::vector<std::int64_t> shape_;
    Ref<Buffer> buffer_;
};

}  // namespace triton_inprocess
