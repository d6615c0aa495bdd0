#include "bindings/pending_request.h"

#include <utility>

#include "bindings/gil.h"
#include "bindings/inference_response.h"

namespace triton_inprocess {

nanobind::object PendingRequest::deliver(std::unique_ptr<InferenceResponse> response) {
    if (response->final) {
        block = nullptr;
    }
    drop_deferred();
    if (response->error && raise_on_error) {
        throw Error(*response->error);
    }
    return make_response(std::move(response), model);
}

void PendingRequest::cancel() {
    const Ref<RequestBlock> present = block;
    if (present) {
        const ReleaseGil guard;
        present->cancel();
    }
}

}  // namespace triton_inprocess
