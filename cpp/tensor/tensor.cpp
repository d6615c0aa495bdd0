#include "tensor/tensor.h"

#include <string>
#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {

Tensor::Tensor(DataType data_type, std::vector<std::int64_t> shape, Ref<Buffer> buffer)
    : data_type_(data_type), shape_(std::move(shape)), buffer_(std::move(buffer)) {
    if (data_type_ == TRITONSERVER_TYPE_BYTES) {
        element_count();
        return;
    }
    const std::size_t needed = byte_size_of(data_type_, shape_.data(), shape_.size());
    if (needed != buffer_->byte_size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    std::string("a ") + data_type_name(data_type_) + " tensor of shape " +
                        shape_text(shape_.data(), shape_.size()) + " has " + std::to_string(needed) +
                        " bytes, but the buffer has " + std::to_string(buffer_->byte_size()));
    }
}

}  // namespace triton_inprocess
