// Where the outputs of one request go, when its author says so: into memory of his, into what an allocator of his
// gives, or into a kind of memory.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/inference_response.h"
#include "core/memory_allocator.h"
#include "core/output_placement.h"
#include "tensor/tensor.h"
#include "tensor/transfer.h"

namespace triton_inprocess {

class RequestOutputs final : public RefCounted, public OutputPlacement {
  public:
    /// `targets`: the memory for some outputs, by name. The others are for `allocator`; where that is null, they are
    /// allocated at `place`, or in host memory.
    RequestOutputs(std::map<std::string, Tensor> targets, std::optional<MemoryPlace> place,
                   Ref<MemoryAllocator> allocator);

    /// The process's allocator, which asks the request's RequestOutputs; it needs a loaded runtime.
    static TRITONSERVER_ResponseAllocator* allocator();

    /// Gives a response that did not use the memory as its author meant it that error, and notes whose memory it has.
    void check(InferenceResponse& response) const;

    void start() override {}
    Ref<Buffer> allocate(const char* name, std::size_t byte_size, Place wanted) override;
    Place query(const char* name, const std::size_t* byte_size, Place wanted) override;
    void describe(const char* name, TRITONSERVER_BufferAttributes* attributes, Buffer& buffer) override;

  private:
    struct Target {
        Tensor tensor;
        bool used = false;
    };

    Place place_of(const std::string& name, Place wanted) const;
    Ref<Buffer> allocated(const char* name, std::size_t byte_size, Place wanted) const;
    void check_given(const char* name, std::size_t byte_size, const Buffer& given) const;

    std::map<std::string, Target> targets_;  ///< Triton asks on one thread at a time.
    std::optional<MemoryPlace> place_;
    Ref<MemoryAllocator> allocator_;
};

}  // namespace triton_inprocess
