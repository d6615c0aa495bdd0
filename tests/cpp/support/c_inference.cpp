#include "support/c_inference.h"

#include <utility>

#include "support/fake_triton.h"

namespace triton_inprocess::testing {

CServer::CServer(unsigned exit_timeout) {
    TRITONSERVER_ServerOptions* options = nullptr;
    check(api().TRITONSERVER_ServerOptionsNew(&options));
    check(api().TRITONSERVER_ServerOptionsSetModelRepositoryPath(options, "/"));
    check(api().TRITONSERVER_ServerOptionsSetModelControlMode(options, TRITONSERVER_MODEL_CONTROL_EXPLICIT));
    check(api().TRITONSERVER_ServerOptionsSetExitTimeout(options, exit_timeout));
    check(api().TRITONSERVER_ServerOptionsSetModelLoadRetryCount(options, 0));
    check(api().TRITONSERVER_ServerOptionsSetEnablePeerAccess(options, true));
    check(api().TRITONSERVER_ServerNew(&server_, options));
    check(api().TRITONSERVER_ServerOptionsDelete(options));
}

CServer::~CServer() {
    if (server_ != nullptr) {
        ignore(api().TRITONSERVER_ServerStop(server_));
        ignore(api().TRITONSERVER_ServerDelete(server_));
    }
}

TRITONSERVER_Server* CServer::detach() noexcept {
    return std::exchange(server_, nullptr);
}

CInference::CInference(TRITONSERVER_Server* its_server, const std::string& model, const std::string& input)
    : server(its_server) {
    constexpr std::array<std::int64_t, 1> shape = {4};
    check(api().TRITONSERVER_ResponseAllocatorNew(&allocator, allocate, release_buffer, start));
    check(api().TRITONSERVER_ResponseAllocatorSetQueryFunction(allocator, query));
    check(api().TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(allocator, attributes));
    check(api().TRITONSERVER_InferenceRequestNew(&request, server, model.c_str(), -1));
    check(api().TRITONSERVER_InferenceRequestSetId(request, "a request"));
    check(api().TRITONSERVER_InferenceRequestAddInput(request, input.c_str(), TRITONSERVER_TYPE_FP32, shape.data(),
                                                      shape.size()));
    check(api().TRITONSERVER_InferenceRequestAppendInputData(request, input.c_str(), data.data(), sizeof(data),
                                                             TRITONSERVER_MEMORY_CPU, 0));
    check(api().TRITONSERVER_InferenceRequestSetReleaseCallback(request, on_release, this));
    check(api().TRITONSERVER_InferenceRequestSetResponseCallback(request, allocator, this, on_response, this));
}

CInference::~CInference() {
    delete_responses();
    if (request != nullptr) {
        ignore(api().TRITONSERVER_InferenceRequestDelete(request));
    }
    if (allocator != nullptr) {
        ignore(api().TRITONSERVER_ResponseAllocatorDelete(allocator));
    }
}

void CInference::submit(TRITONSERVER_InferenceTrace* trace) {
    outstanding_ = 2;
    try {
        check(api().TRITONSERVER_ServerInferAsync(server, request, trace));
    } catch (...) {
        outstanding_ = 0;
        throw;
    }
}

bool CInference::wait() const {
    return eventually([this] { return outstanding_ == 0; });
}

void CInference::delete_responses() {
    std::vector<TRITONSERVER_InferenceResponse*> taken;
    {
        const std::scoped_lock guard(mutex_);
        taken.swap(responses_);
    }
    for (TRITONSERVER_InferenceResponse* response : taken) {
        ignore(api().TRITONSERVER_InferenceResponseDelete(response));
    }
}

std::vector<std::string> CInference::events() const {
    const std::scoped_lock guard(mutex_);
    return events_;
}

std::vector<TRITONSERVER_InferenceResponse*> CInference::responses() const {
    const std::scoped_lock guard(mutex_);
    return responses_;
}

std::vector<std::thread::id> CInference::response_threads() const {
    const std::scoped_lock guard(mutex_);
    return response_threads_;
}

void CInference::record(const std::string& event) {
    const std::scoped_lock guard(mutex_);
    events_.push_back(event);
}

void CInference::on_release(TRITONSERVER_InferenceRequest* /*request*/, std::uint32_t flags, void* user) {
    auto* const self = static_cast<CInference*>(user);
    if ((flags & TRITONSERVER_REQUEST_RELEASE_RESCHEDULE) != 0) {
        self->record("reschedule");
        return;
    }
    self->record("release");
    --self->outstanding_;
}

void CInference::on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) {
    auto* const self = static_cast<CInference*>(user);
    const bool final = (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
    self->record(final ? "final" : "response");
    {
        const std::scoped_lock guard(self->mutex_);
        self->response_threads_.push_back(std::this_thread::get_id());
        if (response != nullptr) {
            self->responses_.push_back(response);
        }
    }
    if (final) {
        --self->outstanding_;
    }
}

TRITONSERVER_Error* CInference::start(TRITONSERVER_ResponseAllocator* /*allocator*/, void* user) {
    static_cast<CInference*>(user)->record("start");
    return nullptr;
}

TRITONSERVER_Error* CInference::query(TRITONSERVER_ResponseAllocator* /*allocator*/, void* user, const char* /*name*/,
                                      std::size_t* /*byte_size*/, TRITONSERVER_MemoryType* /*memory_type*/,
                                      std::int64_t* /*memory_type_id*/) {
    static_cast<CInference*>(user)->record("query");
    return nullptr;
}

TRITONSERVER_Error* CInference::allocate(TRITONSERVER_ResponseAllocator* /*allocator*/, const char* /*name*/,
                                         std::size_t byte_size, TRITONSERVER_MemoryType memory_type,
                                         std::int64_t memory_type_id, void* user, void** buffer, void** buffer_user,
                                         TRITONSERVER_MemoryType* actual_memory_type,
                                         std::int64_t* actual_memory_type_id) {
    static_cast<CInference*>(user)->record("allocate");
    *buffer = new char[byte_size];
    *buffer_user = user;
    *actual_memory_type = memory_type;
    *actual_memory_type_id = memory_type_id;
    return nullptr;
}

TRITONSERVER_Error* CInference::attributes(TRITONSERVER_ResponseAllocator* /*allocator*/, const char* /*name*/,
                                           TRITONSERVER_BufferAttributes* attributes, void* user,
                                           void* /*buffer_user*/) {
    std::size_t byte_size = 0;
    check(api().TRITONSERVER_BufferAttributesByteSize(attributes, &byte_size));
    static_cast<CInference*>(user)->record("attributes of " + std::to_string(byte_size));
    return nullptr;
}

TRITONSERVER_Error* CInference::release_buffer(TRITONSERVER_ResponseAllocator* /*allocator*/, void* buffer,
                                               void* buffer_user, std::size_t /*byte_size*/,
                                               TRITONSERVER_MemoryType /*memory_type*/,
                                               std::int64_t /*memory_type_id*/) {
    static_cast<CInference*>(buffer_user)->record("release buffer");
    delete[] static_cast<char*>(buffer);
    return nullptr;
}

}  // namespace triton_inprocess::testing
