// A request of a front end: there from its creation until it is deleted and Triton has told the last of it.
#pragma once

#include <cstdint>

#include "abi/types.h"
#include "core/front_end.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

class FrontEndRequest final : public RefCounted {
  public:
    /// Creates the C request; throws UNAVAILABLE when the front end takes none.
    static TRITONSERVER_InferenceRequest* create(Ref<FrontEnd> front_end, const char* model_name,
                                                 std::int64_t model_version);

    /// The one behind a C request; null for a request of other origin.
    static Ref<FrontEndRequest> find(const TRITONSERVER_InferenceRequest* request);

    /// To be called before the C request is deleted.
    static void forget(const TRITONSERVER_InferenceRequest* request) noexcept;

    explicit FrontEndRequest(Ref<FrontEnd> front_end) : place_(std::move(front_end)) {}

    /// The C functions of those names, with callbacks of this object's before those given.
    TRITONSERVER_Error* set_release_callback(TRITONSERVER_InferenceRequest* request,
                                             TRITONSERVER_InferenceRequestReleaseFn_t function, void* user);
    TRITONSERVER_Error* set_response_callback(TRITONSERVER_InferenceRequest* request,
                                              TRITONSERVER_ResponseAllocator* allocator, void* allocator_user,
                                              TRITONSERVER_InferenceResponseCompleteFn_t function, void* user);
    TRITONSERVER_Error* infer(TRITONSERVER_InferenceRequest* request, TRITONSERVER_InferenceTrace* trace);

  private:
    static void on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) noexcept;
    static void on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept;

    const FrontEnd::Place place_;
    TRITONSERVER_InferenceRequestReleaseFn_t release_function_ = nullptr;
    void* release_user_ = nullptr;
    TRITONSERVER_InferenceResponseCompleteFn_t response_function_ = nullptr;
    void* response_user_ = nullptr;
};

}  // namespace triton_inprocess
