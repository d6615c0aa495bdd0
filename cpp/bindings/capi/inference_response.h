// The binding of a response at the level of the C API.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "core/inference_response.h"

namespace triton_inprocess {

/// Everything that the C response said; the C response itself is gone, so that it keeps neither model nor server.
class CapiResponse {
  public:
    explicit CapiResponse(std::unique_ptr<InferenceResponse> response) noexcept : response_(std::move(response)) {}

    const InferenceResponse& get() const noexcept { return *response_; }

    std::vector<PyObject*> held() const;
    void let_go() noexcept;

  private:
    std::unique_ptr<InferenceResponse> response_;
};

/// A TRITONSERVER_InferenceResponse, or None for a C response that was none.
nanobind::object make_capi_response(std::unique_ptr<InferenceResponse> response);

void register_capi_response(nanobind::module_& module);

}  // namespace triton_inprocess
