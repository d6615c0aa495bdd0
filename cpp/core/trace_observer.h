// Who is told of a tree of traces: of the one that was made, and of those that Triton spawns from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/types.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class InferenceTrace;

/// A tensor at the moment of a tensor activity; the memory is Triton's and may be gone afterwards.
struct TracedTensor {
    const char* name;
    TRITONSERVER_DataType data_type;
    const void* data;
    std::size_t byte_size;
    const std::int64_t* shape;
    std::uint64_t rank;
    TRITONSERVER_MemoryType memory_type;
    std::int64_t memory_type_id;
};

class TraceObserver : public RefCounted {
  public:
    virtual void on_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                             std::uint64_t timestamp_ns) noexcept = 0;
    virtual void on_tensor_activity(const Ref<InferenceTrace>& trace, TRITONSERVER_InferenceTraceActivity activity,
                                    const TracedTensor& tensor) noexcept = 0;

    /// Triton has done with this trace; others of the tree may still come.
    virtual void on_release(const Ref<InferenceTrace>& trace) noexcept = 0;

    /// No trace of the tree is left: nothing comes any more. With or without the GIL.
    virtual void on_end() noexcept = 0;
};

}  // namespace triton_inprocess
