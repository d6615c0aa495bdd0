#include "core/request_block.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/request_table.h"
#include "core/response_allocator.h"
#include "runtime/error.h"
#include "runtime/function_table.h"
#include "tensor/deferred_release.h"

namespace triton_inprocess {

RequestBlock::RequestBlock(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version, Use use)
    : server_(std::move(server)), use_(use), server_use_(std::in_place, server_) {
    server_->require_accepting();
    check(api().TRITONSERVER_InferenceRequestNew(&request_, server_->get(), model_name.c_str(), model_version));
    if (use_ == Use::reusable) {
        server_->add_reusable(this);
        if (!server_->accepting()) {
            close();  // the stop that has begun meanwhile did not see this one
        }
    }
}

RequestBlock::~RequestBlock() {
    if (use_ == Use::reusable) {
        server_->remove_reusable(this);
    }
    close();
}

RequestBlock::Idle RequestBlock::idle() {
    wait_for_release();
    std::unique_lock<std::mutex> lock(mutex_);
    if (in_flight()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the request is in flight: it can be changed or sent again when it is completed");
    }
    server_->require_accepting();
    if (request_ == nullptr) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the request was for sending once");
    }
    return {std::move(lock), request_};
}

void RequestBlock::wait_for_release() const noexcept {
    constexpr std::chrono::microseconds step(20);
    constexpr int steps = 50'000;  // a second
    for (int i = 0; i < steps && in_flight() && answered_.load(); ++i) {
        std::this_thread::sleep_for(step);
    }
}

void RequestBlock::close() noexcept {
    std::vector<Input> inputs;
    {
        const std::scoped_lock guard(mutex_);
        if (request_ == nullptr || in_flight()) {
            return;
        }
        ignore(api().TRITONSERVER_InferenceRequestDelete(request_));
        request_ = nullptr;
        inputs.swap(inputs_);
        server_use_.reset();
    }
    // Unlocked: a Python owner may use the request when it goes.
    inputs.clear();
    if (claims_.load() == 0) {
        DeferredRelease::ask();
    }
}

void RequestBlock::keep(const std::string& input_name, Ref<Buffer> buffer) {
    inputs_.push_back({input_name, std::move(buffer)});
}

std::vector<Ref<Buffer>> RequestBlock::take(const std::string& input_name) {
    std::vector<Ref<Buffer>> taken;
    std::vector<Input> kept;
    for (Input& input : inputs_) {
        if (input.name == input_name) {
            taken.push_back(std::move(input.buffer));
        } else {
            kept.push_back(std::move(input));
        }
    }
    inputs_ = std::move(kept);
    return taken;
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
    TRITONSERVER_InferenceRequest* request = nullptr;
    // The request's own use ends when it is completed, which can be before the submission returns.
    std::optional<ServerUse> submitting;
    {
        const Idle held = idle();
        request = held.get();
        submitting.emplace(server_);
        check(api().TRITONSERVER_InferenceRequestSetReleaseCallback(request, on_release, this));
        check(api().TRITONSERVER_InferenceRequestSetResponseCallback(request, ResponseAllocator::get(), nullptr,
                                                                     on_response, this));
        RequestTable::instance().insert(request, this);
        queue_ = std::move(queue);
        answered_.store(false);
        outstanding_.store(2);
    }
    retain();
    retain();
    // Unlocked: a response from the cache arrives, and completes the request, inside this call.
    if (TRITONSERVER_Error* error = api().TRITONSERVER_ServerInferAsync(server_->get(), request, nullptr)) {
        // Neither callback will come.
        RequestTable::instance().erase(request);
        queue_ = nullptr;
        outstanding_.store(0);
        if (!server_->accepting()) {
            close();  // the stop that has begun meanwhile took it for one in flight
        }
        release();
        release();
        check(error);
    }
}

void RequestBlock::cancel() {
    const std::scoped_lock guard(mutex_);
    if (in_flight()) {
        check(api().TRITONSERVER_InferenceRequestCancel(request_));
    }
}

Ref<RequestBlock> RequestBlock::find(const TRITONSERVER_InferenceRequest* request) noexcept {
    return RequestTable::instance().find(request);
}

void RequestBlock::finish_one() noexcept {
    const bool completed = outstanding_.fetch_sub(1) == 1;
    if (completed && (use_ == Use::once || !server_->accepting())) {
        close();
    }
    release();
}

void RequestBlock::on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) noexcept {
    if ((flags & TRITONSERVER_REQUEST_RELEASE_ALL) == 0) {
        return;  // a reschedule: Triton keeps the request
    }
    const DeferredRelease::ConsumerComes scope;
    RequestTable::instance().erase(request);
    static_cast<RequestBlock*>(user)->finish_one();
}

void RequestBlock::on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept {
    const DeferredRelease::ConsumerComes scope;
    auto* const block = static_cast<RequestBlock*>(user);
    std::unique_ptr<InferenceResponse> taken = InferenceResponse::take(response, flags);
    if (!taken->final) {
        block->queue_->push(std::move(taken));
        return;
    }
    // The block first: who receives the final response may send the request again.
    const Ref<ResponseQueue> queue = std::move(block->queue_);
    block->answered_.store(true);
    block->finish_one();
    queue->push(std::move(taken));
}

}  // namespace triton_inprocess
