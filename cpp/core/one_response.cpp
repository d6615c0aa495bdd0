#include "core/one_response.h"

#include <utility>

namespace triton_inprocess {

std::unique_ptr<InferenceResponse> OneResponse::add(std::unique_ptr<InferenceResponse> response) {
    if (!response->empty) {
        if (first_) {
            throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "model '" + response->model_name +
                                                            "' sends several responses: iterate over them instead of "
                                                            "asking for the one");
        }
        if (!response->final) {
            first_ = std::move(response);
            return nullptr;
        }
        return response;
    }
    if (!response->final) {
        return nullptr;
    }
    if (!first_) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "the model sent no response: iterate over them instead of asking for the one");
    }
    first_->final = true;
    return std::move(first_);
}

}  // namespace triton_inprocess
