#include "core/request_block.h"

#include <algorithm>
#include <utility>

#include "core/request_table.h"
#include "core/response_allocator.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

RequestBlock::RequestBlock(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version)
    : server_(std::move(server)) {
    check(api().TRITONSERVER_InferenceRequestNew(&request_, server_.get(), model_name.c_str(), model_version));
}

RequestBlock::~RequestBlock() {
    if (request_ != nullptr) {
        ignore(api().TRITONSERVER_InferenceRequestDelete(request_));
    }
}

void RequestBlock::require_idle() const {
    if (in_flight()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the request is in flight: it can be changed or sent again when it is completed");
    }
}

void RequestBlock::keep(const std::string& input_name, Ref<Buffer> buffer) {
    inputs_.push_back({input_name, std::move(buffer)});
}

void RequestBlock::drop(const std::string& input_name) noexcept {
    inputs_.erase(
        std::remove_if(inputs_.begin(), inputs_.end(), [&](const Input& input) { return input.name == input_name; }),
        inputs_.end());
}

Ref<Buffer> RequestBlock::owner_of(const void* address) const noexcept {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (const Input& input : inputs_) {
        const auto begin = reinterpret_cast<std::uintptr_t>(input.buffer->data());
        if (wanted >= begin && wanted - begin < input.buffer->byte_size()) {
            return input.buffer;
        }
    }
    return nullptr;
}

void RequestBlock::submit(Ref<ResponseQueue> queue) {
    int idle = 0;
    if (!outstanding_.compare_exchange_strong(idle, 2)) {
        require_idle();
    }
    try {
        // A request can outlive its server's stop, but not be sent to it any more.
        server_.require_running();
        check(api().TRITONSERVER_InferenceRequestSetReleaseCallback(request_, on_release, this));
        check(api().TRITONSERVER_InferenceRequestSetResponseCallback(request_, ResponseAllocator::get(), nullptr,
                                                                     on_response, this));
        RequestTable::instance().insert(request_, this);
    } catch (...) {
        outstanding_.store(0);
        throw;
    }
    queue_ = std::move(queue);
    retain();
    retain();
    if (TRITONSERVER_Error* error = api().TRITONSERVER_ServerInferAsync(server_.get(), request_, nullptr)) {
        // Neither callback will come.
        RequestTable::instance().erase(request_);
        queue_ = nullptr;
        outstanding_.store(0);
        release();
        release();
        check(error);
    }
}

void RequestBlock::cancel() {
    if (in_flight()) {
        check(api().TRITONSERVER_InferenceRequestCancel(request_));
    }
}

Ref<RequestBlock> RequestBlock::find(const TRITONSERVER_InferenceRequest* request) noexcept {
    return RequestTable::instance().find(request);
}

void RequestBlock::finish_one() noexcept {
    outstanding_.fetch_sub(1);
    release();
}

void RequestBlock::on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) noexcept {
    if ((flags & TRITONSERVER_REQUEST_RELEASE_ALL) == 0) {
        return;  // a reschedule: Triton keeps the request
    }
    RequestTable::instance().erase(request);
    static_cast<RequestBlock*>(user)->finish_one();
}

void RequestBlock::on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept {
    auto* const block = static_cast<RequestBlock*>(user);
    std::unique_ptr<InferenceResponse> taken = InferenceResponse::take(response, flags);
    if (!taken->final) {
        block->queue_->push(std::move(taken));
        return;
    }
    // The block first: who receives the final response may send the request again.
    const Ref<ResponseQueue> queue = std::move(block->queue_);
    block->finish_one();
    queue->push(std::move(taken));
}

}  // namespace triton_inprocess
