#include "core/front_end_request.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

/// Those whose C request is there.
struct Requests {
    std::mutex mutex;
    std::unordered_map<const TRITONSERVER_InferenceRequest*, Ref<FrontEndRequest>> there;
    std::atomic<std::size_t> count{0};  ///< Others than front ends, who have none, need no lock.
};

// Not destroyed: see front_end.cpp.
Requests& requests() {
    static auto* const instance = new Requests;  // NOLINT(cppcoreguidelines-owning-memory)
    return *instance;
}

}  // namespace

TRITONSERVER_InferenceRequest* FrontEndRequest::create(Ref<FrontEnd> front_end, const char* model_name,
                                                       std::int64_t model_version) {
    auto made = make_ref<FrontEndRequest>(std::move(front_end));
    Requests& all = requests();
    // Locked from before it exists: no other thread may have been given the same address.
    const std::scoped_lock guard(all.mutex);
    TRITONSERVER_InferenceRequest* request = nullptr;
    check(api().TRITONSERVER_InferenceRequestNew(&request, made->place_.server(), model_name, model_version));
    all.there.insert_or_assign(request, std::move(made));
    all.count.store(all.there.size());
    return request;
}

Ref<FrontEndRequest> FrontEndRequest::find(const TRITONSERVER_InferenceRequest* request) {
    Requests& all = requests();
    if (all.count.load() == 0) {
        return nullptr;
    }
    const std::scoped_lock guard(all.mutex);
    const auto found = all.there.find(request);
    return found != all.there.end() ? found->second : nullptr;
}

void FrontEndRequest::forget(const TRITONSERVER_InferenceRequest* request) noexcept {
    Requests& all = requests();
    if (all.count.load() == 0) {
        return;
    }
    Ref<FrontEndRequest> last;  // dropped without the lock
    const std::scoped_lock guard(all.mutex);
    const auto found = all.there.find(request);
    if (found != all.there.end()) {
        last = std::move(found->second);
        all.there.erase(found);
        all.count.store(all.there.size());
    }
}

TRITONSERVER_Error* FrontEndRequest::set_release_callback(TRITONSERVER_InferenceRequest* request,
                                                          TRITONSERVER_InferenceRequestReleaseFn_t function,
                                                          void* user) {
    release_function_ = function;
    release_user_ = user;
    return api().TRITONSERVER_InferenceRequestSetReleaseCallback(request, on_release, this);
}

TRITONSERVER_Error* FrontEndRequest::set_response_callback(TRITONSERVER_InferenceRequest* request,
                                                           TRITONSERVER_ResponseAllocator* allocator,
                                                           void* allocator_user,
                                                           TRITONSERVER_InferenceResponseCompleteFn_t function,
                                                           void* user) {
    response_function_ = function;
    response_user_ = user;
    return api().TRITONSERVER_InferenceRequestSetResponseCallback(request, allocator, allocator_user, on_response,
                                                                  this);
}

TRITONSERVER_Error* FrontEndRequest::infer(TRITONSERVER_InferenceRequest* request, TRITONSERVER_InferenceTrace* trace) {
    // One reference for the release, one for the final response: either may come first, and within this call.
    retain();
    retain();
    TRITONSERVER_Error* const error = api().TRITONSERVER_ServerInferAsync(place_.server(), request, trace);
    if (error != nullptr) {  // then neither comes
        release();
        release();
    }
    return error;
}

void FrontEndRequest::on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) noexcept {
    auto* const self = static_cast<FrontEndRequest*>(user);
    self->release_function_(request, flags, self->release_user_);  // which may delete the request
    if ((flags & TRITONSERVER_REQUEST_RELEASE_ALL) != 0) {         // otherwise Triton keeps it
        self->release();
    }
}

void FrontEndRequest::on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept {
    auto* const self = static_cast<FrontEndRequest*>(user);
    self->response_function_(response, flags, self->response_user_);
    if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) {
        self->release();
    }
}

}  // namespace triton_inprocess
