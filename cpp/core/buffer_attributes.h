// What Triton is told of a piece of memory: where it lies, how large it is, how another process reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "abi/types.h"

namespace triton_inprocess {

class BufferAttributes {
  public:
    BufferAttributes();

    /// A copy of what Triton has.
    explicit BufferAttributes(TRITONSERVER_BufferAttributes* others);

    TRITONSERVER_MemoryType memory_type() const;
    void set_memory_type(TRITONSERVER_MemoryType memory_type);
    std::int64_t memory_type_id() const;
    void set_memory_type_id(std::int64_t id);
    std::size_t byte_size() const;
    void set_byte_size(std::size_t byte_size);

    /// The address of the 64 bytes of a cudaIpcMemHandle_t, or null.
    void* cuda_ipc_handle() const;
    void set_cuda_ipc_handle(void* handle);

    TRITONSERVER_BufferAttributes* get() const noexcept { return attributes_.get(); }

    /// Writes these attributes to an object of Triton's.
    void copy_to(TRITONSERVER_BufferAttributes* target) const;

  private:
    struct Delete {
        void operator()(TRITONSERVER_BufferAttributes* attributes) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_BufferAttributes, Delete> attributes_;
};

}  // namespace triton_inprocess
