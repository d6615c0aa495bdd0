// An output that a function has returned.
#pragma once

#include <cstddef>

#include "tensor/buffer_slice.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

struct FunctionOutput {
    Tensor tensor;
    /// Whether responses may take the memory over: nobody else can reach it, or the author says that it may be.
    bool offered = false;
    /// Whether the memory is a copy of what the function returned.
    bool copied = false;

    /// What is offered for the bytes at `data`, which lie in the tensor's memory; null for nothing.
    Ref<Buffer> offer(const char* data, std::size_t byte_size) const {
        const Ref<Buffer>& buffer = tensor.buffer();
        if (!offered || byte_size == 0) {
            return nullptr;
        }
        if (byte_size == buffer->byte_size()) {
            return buffer;
        }
        return make_ref<BufferSlice>(const_cast<char*>(data), byte_size, buffer, buffer->read_only());
    }
};

}  // namespace triton_inprocess
