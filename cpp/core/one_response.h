// The response of a model that sends one.
#pragma once

#include <memory>

#include "core/inference_response.h"

namespace triton_inprocess {

class OneResponse {
  public:
    /// Takes what has come; the one response once that is all, null while more may come. Throws UNSUPPORTED for a
    /// second response, and for none at all.
    std::unique_ptr<InferenceResponse> add(std::unique_ptr<InferenceResponse> response);

  private:
    std::unique_ptr<InferenceResponse> first_;
};

}  // namespace triton_inprocess
