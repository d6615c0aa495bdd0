#include "bindings/pending_request.h"

#include <string>

#include "bindings/gil.h"
#include "bindings/inference_response.h"

namespace triton_inprocess {

PendingRequest::PendingRequest(Ref<ResponseQueue> queue, Ref<RequestBlock> block, nanobind::object model,
                               bool raise_on_error, Deadline deadline)
    : queue_(std::move(queue)),
      block_(std::move(block)),
      model_(std::move(model)),
      raise_on_error_(raise_on_error),
      deadline_(deadline) {
    block_->claim();
}

bool PendingRequest::let_go() noexcept {
    if (!block_) {
        return false;
    }
    // In this order: what is put aside after the claim has ended, somebody else is asked to fetch.
    const bool last = block_->unclaim();
    block_ = nullptr;
    drop_deferred();
    return last;
}

void PendingRequest::abandon() noexcept {
    const Ref<RequestBlock> block = block_;
    if (let_go()) {
        block->cancel_unwanted();
    }
    if (block) {
        queue_->close();  // afterwards: who waits for room there is cancelled by then
    }
}

nanobind::object PendingRequest::deliver(std::unique_ptr<InferenceResponse> response) {
    if (response->final) {
        let_go();
    } else {
        drop_deferred();
    }
    if (response->error && raise_on_error_) {
        abandon();  // what is raised ends the iteration, though the model may go on
        throw Error(*response->error);
    }
    return make_response(std::move(response), model_);
}

void PendingRequest::cancel() {
    const Ref<RequestBlock> present = block_;
    if (present) {
        const ReleaseGil guard;
        present->cancel();
        queue_->open();  // the model is to hear of it
    } else {
        RequestBlock::require_cancel();
    }
}

void PendingRequest::expire() {
    const std::string model = block_->model_name();
    abandon();
    deadline_.raise(model);
}

}  // namespace triton_inprocess
