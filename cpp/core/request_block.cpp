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
namespace {

/// The request whose last response this thread is telling an observer of: its release may come only afterwards.
thread_local const RequestBlock* delivering = nullptr;

class Delivering {
  public:
    explicit Delivering(const RequestBlock* request) noexcept : outer_(std::exchange(delivering, request)) {}
    ~Delivering() { delivering = outer_; }
    Delivering(const Delivering&) = delete;
    Delivering& operator=(const Delivering&) = delete;

  private:
    const RequestBlock* outer_;
};

}  // namespace

RequestBlock::RequestBlock(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version, Use use)
    : server_(std::move(server)), model_name_(model_name), use_(use), server_use_(std::in_place, server_) {
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

RequestBlock::Locked RequestBlock::locked(std::unique_lock<std::mutex> lock) {
    server_->require_accepting();
    if (request_ == nullptr) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the request was for sending once");
    }
    return {std::move(lock), request_};
}

RequestBlock::Locked RequestBlock::idle() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (in_flight()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the request is in flight: it can be changed or sent again when it is completed");
    }
    return locked(std::move(lock));
}

RequestBlock::Locked RequestBlock::readable() {
    return locked(std::unique_lock<std::mutex>(mutex_));
}

void RequestBlock::wait_for_release() const noexcept {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::seconds(1);
    while (in_flight() && answered_.load() && delivering != this && Clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

void RequestBlock::close() noexcept {
    std::vector<Ref<Buffer>> inputs;
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

Ref<Buffer> RequestBlock::owner_of(const void* address) const noexcept {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    for (const Ref<Buffer>& input : inputs_) {
        const auto begin = reinterpret_cast<std::uintptr_t>(input->data());
        if (wanted >= begin && wanted - begin < input->byte_size()) {
            return input;
        }
    }
    return nullptr;
}

void RequestBlock::submit(Ref<ResponseQueue> queue, Ref<RequestOutputs> outputs, const Ref<InferenceTrace>& trace) {
    wait_for_release();
    const ServerUse submitting(server_);  // the request's own ends when it is completed, which can be inside this call
    TRITONSERVER_InferenceRequest* request = nullptr;
    TRITONSERVER_InferenceTrace* c_trace = nullptr;
    {
        const Locked held = idle();
        request = held.get();
        check(api().TRITONSERVER_InferenceRequestSetReleaseCallback(request, on_release, this));
        OutputPlacement* const placement = outputs ? &*outputs : nullptr;
        check(api().TRITONSERVER_InferenceRequestSetResponseCallback(
            request, outputs ? RequestOutputs::allocator() : ResponseAllocator::get(), placement, on_response, this));
        c_trace = trace ? trace->hand_over() : nullptr;
        RequestTable::instance().insert(request, this);
        watch_bound(queue);
        queue_ = std::move(queue);
        outputs_ = std::move(outputs);
        observer_ = nullptr;
        prepare_for_flight();
    }
    send(request, trace, c_trace);
}

void RequestBlock::submit(Submission submission) {
    wait_for_release();
    const ServerUse submitting(server_);  // as above
    TRITONSERVER_InferenceRequest* request = nullptr;
    TRITONSERVER_InferenceTrace* c_trace = nullptr;
    {
        const Locked held = idle();
        request = held.get();
        check(api().TRITONSERVER_InferenceRequestSetReleaseCallback(request, on_release, this));
        check(api().TRITONSERVER_InferenceRequestSetResponseCallback(
            request, submission.allocator != nullptr ? submission.allocator : ResponseAllocator::get(),
            submission.placement, on_response, this));
        c_trace = submission.trace ? submission.trace->hand_over() : nullptr;
        RequestTable::instance().insert(request, this);
        queue_ = nullptr;
        outputs_ = nullptr;
        observer_ = std::move(submission.observer);
        prepare_for_flight();
    }
    send(request, submission.trace, c_trace);
}

void RequestBlock::prepare_for_flight() noexcept {
    answered_.store(false);
    cancel_when_sent_.store(false);
    sending_.fetch_add(1);
    outstanding_.store(2);
}

void RequestBlock::watch_bound(const Ref<ResponseQueue>& queue) {
    if (queue->bounded()) {
        server_->add_bounded(queue);
    }
}

void RequestBlock::forget_bound(const Ref<ResponseQueue>& queue) noexcept {
    if (queue && queue->bounded()) {
        server_->remove_bounded(queue);
    }
}

void RequestBlock::send(TRITONSERVER_InferenceRequest* request, const Ref<InferenceTrace>& trace,
                        TRITONSERVER_InferenceTrace* c_trace) {
    retain();
    retain();
    // Unlocked: a response from the cache arrives, and completes the request, inside this call.
    TRITONSERVER_Error* const error = api().TRITONSERVER_ServerInferAsync(server_->get(), request, c_trace);
    sending_.fetch_sub(1);
    if (error == nullptr) {
        ignore(cancel_if_asked());
        return;
    }
    // Neither callback will come.
    RequestTable::instance().erase(request);
    forget_bound(queue_);
    queue_ = nullptr;
    outputs_ = nullptr;
    const Ref<RequestObserver> observer = std::move(observer_);
    outstanding_.store(0);
    if (!server_->accepting()) {
        close();  // the stop that has begun meanwhile took it for one in flight
    }
    if (trace) {
        trace->submission_failed();
    }
    if (observer) {
        observer->on_failure();
    }
    release();
    release();
    check(error);
}

void RequestBlock::require_cancel() {
    require_function("TRITONSERVER_InferenceRequestCancel");
}

void RequestBlock::cancel() {
    require_cancel();
    cancel_when_sent_.store(true);
    check(cancel_if_asked());
}

void RequestBlock::cancel_unwanted() noexcept {
    if (in_flight()) {
        cancel_when_sent_.store(true);
        ignore(cancel_if_asked());
    }
}

TRITONSERVER_Error* RequestBlock::cancel_if_asked() {
    // The library cannot cancel what is still being handed to it: whoever does that cancels afterwards.
    if (sending_.load() != 0 || !cancel_when_sent_.exchange(false)) {
        return nullptr;
    }
    const std::scoped_lock guard(mutex_);
    const bool can = in_flight() && sending_.load() == 0;
    return can ? api().TRITONSERVER_InferenceRequestCancel(request_) : nullptr;
}

bool RequestBlock::is_cancelled() {
    bool cancelled = false;
    check(api().TRITONSERVER_InferenceRequestIsCancelled(readable().get(), &cancelled));
    return cancelled;
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
    auto* const block = static_cast<RequestBlock*>(user);
    const Ref<RequestObserver> observer = block->observer_;
    if ((flags & TRITONSERVER_REQUEST_RELEASE_ALL) != 0) {  // otherwise Triton keeps the request
        const DeferredRelease::ConsumerComes scope(!observer);
        RequestTable::instance().erase(request);
        block->finish_one();
    }
    if (observer) {
        observer->on_release(flags);
    }
}

void RequestBlock::on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept {
    auto* const block = static_cast<RequestBlock*>(user);
    const Ref<RequestObserver> observer = block->observer_;
    const DeferredRelease::ConsumerComes scope(!observer);
    // Whoever wants to be told of everything may ask for the label of any model.
    const Ref<ClassLabels> labels = observer ? make_ref<ClassLabels>() : block->labels_;
    std::unique_ptr<InferenceResponse> taken = InferenceResponse::take(response, flags, labels.get());
    if (taken->error) {
        taken->error->set_detail(std::exchange(block->error_detail_, {}));
    }
    if (block->outputs_) {
        block->outputs_->check(*taken);
    }
    if (taken->final) {
        block->outputs_ = nullptr;  // before somebody hears of the response: its memory is his alone then
    }
    const Ref<ResponseQueue> queue = taken->final ? std::move(block->queue_) : block->queue_;
    if (taken->final) {
        block->forget_bound(queue);
        // The block first: who receives the final response may send the request again.
        block->answered_.store(true);
        block->finish_one();
    }
    if (observer) {
        const Delivering guard(block);
        observer->on_response(std::move(taken), flags);
        return;
    }
    const bool final = taken->final;  // then the block may be gone
    if (!queue->push(std::move(taken)) && !final) {
        block->cancel_unwanted();
    }
}

}  // namespace triton_inprocess
