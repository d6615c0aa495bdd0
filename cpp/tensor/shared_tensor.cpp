#include "tensor/shared_tensor.h"

#include <cstring>
#include <utility>

#include "runtime/error.h"
#include "tensor/region_buffer.h"

namespace triton_inprocess {
namespace {

/// The tensor's memory if that lies in the pool.
const SharedBuffer* in_pool(const Tensor& tensor, const SharedMemoryPool& pool) noexcept {
    const auto* const buffer = dynamic_cast<const SharedBuffer*>(&tensor.buffer()->root());
    return buffer != nullptr && buffer->pool()->segment_id() == pool.segment_id() ? buffer : nullptr;
}

}  // namespace

SharedTensor::SharedTensor(const std::string& key, std::uint64_t offset, std::uint64_t byte_size, DataType data_type,
                           std::vector<std::int64_t> shape, Block block)
    : name_(SharedMemorySegment::name_of(key)),
      offset_(offset),
      byte_size_(byte_size),
      data_type_(data_type),
      shape_(std::move(shape)),
      block_(block) {
    const bool bytes = data_type_ == TRITONSERVER_TYPE_BYTES;
    const std::size_t needed = bytes ? byte_size_ : byte_size_of(data_type_, shape_.data(), shape_.size());
    if (bytes) {
        element_count(shape_.data(), shape_.size());
    }
    if (needed != byte_size_) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, std::string("a ") + data_type_name(data_type_) +
                                                        " tensor of shape " + shape_text(shape_.data(), shape_.size()) +
                                                        " has " + std::to_string(needed) + " bytes, but byte_size is " +
                                                        std::to_string(byte_size_));
    }
}

SharedTensor SharedTensor::share(const Tensor& tensor, SharedMemoryPool& pool) {
    const Buffer& buffer = *tensor.buffer();
    if (buffer.memory_type() == TRITONSERVER_MEMORY_GPU) {
        throw Error(
            TRITONSERVER_ERROR_UNSUPPORTED,
            "the tensor is in GPU memory, and a shared memory pool takes tensors in host memory only: copy it to "
            "the host first");
    }
    Ref<SharedBuffer> held;
    const void* data = buffer.data();
    if (const SharedBuffer* const there = in_pool(tensor, pool)) {
        held = there->pool()->hold(there->id(), there->pool()->offset_of(data), buffer.byte_size(), true);
        data = held->data();
    } else {
        held = pool.allocate(buffer.byte_size());
        if (buffer.byte_size() != 0) {
            std::memcpy(held->data(), buffer.data(), buffer.byte_size());
        }
        data = held->data();
    }
    SharedTensor result(pool.name(), held->pool()->offset_of(data), buffer.byte_size(), tensor.data_type(),
                        tensor.shape(), {pool.segment_id(), held->id()});
    result.held_ = std::move(held);
    return result;
}

Tensor SharedTensor::open(bool writable) const {
    if (block_.segment_id != 0) {
        return Tensor(
            data_type_, shape_,
            SharedMemoryPool::open(name_, block_.segment_id)->hold(block_.id, offset_, byte_size_, !writable));
    }
    using Access = SharedMemorySegment::Access;
    SharedMemorySegment segment = SharedMemorySegment::open(name_, writable ? Access::writable : Access::read_only);
    if (offset_ > segment.byte_size() || byte_size_ > segment.byte_size() - offset_) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the shared tensor's " + std::to_string(byte_size_) +
                                                        " bytes at offset " + std::to_string(offset_) +
                                                        " are not in the shared memory '" + name_ + "', which has " +
                                                        std::to_string(segment.byte_size()) + " bytes");
    }
    return Tensor(data_type_, shape_, make_ref<RegionBuffer>(std::move(segment), offset_, byte_size_, !writable));
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
