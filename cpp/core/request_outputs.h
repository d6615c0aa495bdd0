// Where the outputs of one request go, when its author says so: into memory of his, or into a kind of memory.
#pragma once

#include <map>
#include <string>

#include "core/inference_response.h"
#include "core/output_placement.h"
#include "tensor/tensor.h"
#include "tensor/transfer.h"

namespace triton_inprocess {

class RequestOutputs final : public RefCounted, public OutputPlacement {
  public:
    /// `targets`: the memory for some outputs, by name; the others are allocated at `place`.
    RequestOutputs(std::map<std::string, Tensor> targets, MemoryPlace place);

    /// The process's allocator, which asks the request's RequestOutputs; it needs a loaded runtime.
    static TRITONSERVER_ResponseAllocator* allocator();

    /// Gives a response that did not use the memory as its author meant it that error.
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

    MemoryPlace place_of(const std::string& name) const;

    std::map<std::string, Target> targets_;  ///< Triton asks on one thread at a time.
    MemoryPlace place_;
};

}  // namespace triton_inprocess
