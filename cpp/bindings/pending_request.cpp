#include "bindings/pending_request.h"

#include "bindings/gil.h"
#include "bindings/inference_response.h"

namespace triton_inprocess {

PendingRequest::PendingRequest(Ref<ResponseQueue> queue, Ref<RequestBlock> block, nanobind::object model,
                               bool raise_on_error)
    : queue_(std::move(queue)), block_(std::move(block)), model_(std::move(model)), raise_on_error_(raise_on_error) {
    block_->claim();
}

void PendingRequest::let_go() noexcept {
    if (block_) {
        // In this order: what is put aside after the claim has ended, somebody else is asked to fetch.
        block_->unclaim();
        block_ = nullptr;
        drop_deferred();
    }
}

nanobind::object PendingRequest::deliver(std::unique_ptr<InferenceResponse> response) {
    if (response->final) {
        let_go();
    } else {
        drop_deferred();
    }
    if (response->error && raise_on_error_) {
        let_go();  // what is raised ends the iteration, though the model may go on
        throw Error(*response->error);
    }
    return make_response(std::move(response), model_);
}

void PendingRequest::cancel() {
    const Ref<RequestBlock> present = block_;
    if (present) {
        const ReleaseGil guard;
        present->cancel();
    } else {
        RequestBlock::require_cancel();
    }
}

}  // namespace triton_inprocess
