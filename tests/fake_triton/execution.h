// A request on its way: from its submission to its last callback.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "delivery.h"
#include "inference_request.h"
#include "inference_response.h"
#include "inference_trace.h"

namespace fake_triton {

class Execution : public std::enable_shared_from_this<Execution> {
  public:
    /// Takes the request and the trace (which may be null). An error says that neither was taken, or, when it came at
    /// enqueueing, that the trace was released.
    static TRITONSERVER_Error* submit(TRITONSERVER_Server& server, TRITONSERVER_InferenceRequest& request,
                                      TRITONSERVER_InferenceTrace* trace);

    Execution(TRITONSERVER_InferenceRequest& request, TRITONSERVER_InferenceTrace* trace);

  private:
    /// One call of the response callback; a null response carries the flags alone.
    struct Answer {
        TRITONSERVER_InferenceResponse* response;
        std::uint32_t flags;
    };

    void run();
    void compute();
    void trace_steps();
    void add_response(std::uint32_t flags);
    void report_tensors(TRITONSERVER_InferenceTraceActivity activity) const;
    void report_outputs(const TRITONSERVER_InferenceResponse& response) const;

    void respond();
    void call_back(const Answer& answer);
    void release();
    void finish_trace();

    TRITONSERVER_InferenceRequest& request_;  ///< Not to be touched once it is released.
    TRITONSERVER_InferenceTrace* trace_;
    std::vector<TRITONSERVER_InferenceTrace*> child_traces_;
    const Delivery delivery_;
    std::vector<Answer> answers_;

    // The request's, which may be gone when they are called.
    TRITONSERVER_ResponseAllocator& allocator_;
    const TRITONSERVER_InferenceResponseCompleteFn_t respond_;
    void* const respond_user_;
};

}  // namespace fake_triton
