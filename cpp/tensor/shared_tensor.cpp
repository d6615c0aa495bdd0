#include "tensor/shared_tensor.h"

#include <string>
#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {

SharedTensor::SharedTensor(Location location, DataType data_type, std::vector<std::int64_t> shape)
    : location_(std::move(location)), data_type_(data_type), shape_(std::move(shape)) {
    const bool bytes = data_type_ == TRITONSERVER_TYPE_BYTES;
    const std::size_t needed = bytes ? byte_size() : byte_size_of(data_type_, shape_.data(), shape_.size());
    if (bytes) {
        element_count(shape_.data(), shape_.size());
    }
    if (needed != byte_size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, std::string("a ") + data_type_name(data_type_) +
                                                        " tensor of shape " + shape_text(shape_.data(), shape_.size()) +
                                                        " has " + std::to_string(needed) + " bytes, but byte_size is " +
                                                        std::to_string(byte_size()));
    }
}

SharedTensor SharedTensor::share(const Tensor& tensor, SharedMemoryPool& pool) {
    if (tensor.buffer()->memory_type() == TRITONSERVER_MEMORY_GPU) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "pool must be None for a tensor in GPU memory, which is shared where it lies: no pool takes it, "
                    "unless to_host() copies it to the host's memory first");
    }
    return SharedTensor(SharedMemoryRegion::share(*tensor.buffer(), pool), tensor.data_type(), tensor.shape());
}

SharedTensor SharedTensor::share(const Tensor& tensor) {
    return SharedTensor(IpcMemoryRegion::share(tensor.buffer()), tensor.data_type(), tensor.shape());
}

Tensor SharedTensor::open(bool writable) const {
    return Tensor(data_type_, shape_, std::visit([&](const auto& region) { return region.open(writable); }, location_));
}

std::uint64_t SharedTensor::offset() const noexcept {
    return std::visit([](const auto& region) { return region.offset(); }, location_);
}

std::uint64_t SharedTensor::byte_size() const noexcept {
    return std::visit([](const auto& region) { return region.byte_size(); }, location_);
}

Tensor empty_tensor(SharedMemoryPool& pool, DataType data_type, std::vector<std::int64_t> shape) {
    if (data_type == TRITONSERVER_TYPE_BYTES) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "data_type must not be BYTES, whose elements differ in length: make the tensor, and share it");
    }
    const std::size_t byte_size = byte_size_of(data_type, shape.data(), shape.size());
    return Tensor(data_type, std::move(shape), pool.allocate(byte_size));
}

}  // namespace triton_inprocess
