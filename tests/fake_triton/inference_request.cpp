#include "inference_request.h"

#include <algorithm>

#include "breach.h"
#include "buffer_attributes.h"
#include "error.h"
#include "implementation.h"
#include "response_allocator.h"
#include "server.h"

using namespace fake_triton;

TRITONSERVER_InferenceRequest::TRITONSERVER_InferenceRequest(TRITONSERVER_Server& its_server, Model& its_model)
    : server(its_server), model(its_model) {
    server.add_user();
}

TRITONSERVER_InferenceRequest::~TRITONSERVER_InferenceRequest() {
    live(&server).remove_user();
}

Input* TRITONSERVER_InferenceRequest::find(const std::string& input_name) {
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) { return input.name == input_name; });
    return found == inputs.end() ? nullptr : &*found;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequest::check() const {
    const auto refuse = [](std::string reason) { return failure(TRITONSERVER_ERROR_INVALID_ARG, std::move(reason)); };
    if (release == nullptr || respond == nullptr || allocator == nullptr) {
        return refuse("the request lacks a callback or a response allocator");
    }
    if (inputs.empty()) {
        return refuse("expected at least 1 input for model '" + model.name + "'");
    }
    for (const Input& input : inputs) {
        if (input.name.rfind("INPUT", 0) != 0) {
            return refuse("unexpected inference input '" + input.name + "' for model '" + model.name + "'");
        }
        const std::int64_t expected = input.expected_byte_size();
        if (expected >= 0 && static_cast<std::size_t>(expected) != input.byte_size()) {
            return refuse("input '" + input.name + "' has " + std::to_string(input.byte_size()) + " bytes, expected " +
                          std::to_string(expected));
        }
    }
    for (const std::string& name : requested_outputs) {
        const bool known = std::any_of(inputs.begin(), inputs.end(),
                                       [&](const Input& input) { return output_name(input.name) == name; });
        if (!known) {
            return refuse("unexpected inference output '" + name + "' for model '" + model.name + "'");
        }
    }
    return nullptr;
}

namespace fake_triton {

std::size_t Input::byte_size() const {
    std::size_t total = 0;
    for (const InputData& piece : data) {
        total += piece.byte_size;
    }
    return total;
}

std::int64_t Input::expected_byte_size() const {
    auto size = static_cast<std::int64_t>(implementation::TRITONSERVER_DataTypeByteSize(data_type));
    for (const std::int64_t dimension : shape) {
        size *= dimension;
    }
    return data_type == TRITONSERVER_TYPE_BYTES || data_type == TRITONSERVER_TYPE_INVALID ? -1 : size;
}

std::string output_name(std::string input_name) {
    return "OUTPUT" + input_name.substr(std::string("INPUT").size());
}

TRITONSERVER_InferenceRequest& own(TRITONSERVER_InferenceRequest* request) {
    TRITONSERVER_InferenceRequest& target = live(request);
    if (target.in_flight.load()) {
        breach(describe(request, "InferenceRequest") + " is used while it is in flight");
    }
    return target;
}

namespace implementation {
namespace {

TRITONSERVER_Error* no_input(const char* name) {
    return failure(TRITONSERVER_ERROR_INVALID_ARG, std::string("input '") + name + "' does not exist in request");
}

TRITONSERVER_Error* add_input(TRITONSERVER_InferenceRequest& request, Input input) {
    if (request.find(input.name) != nullptr) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "input '" + input.name + "' already exists in request");
    }
    request.inputs.push_back(std::move(input));
    return nullptr;
}

TRITONSERVER_Error* append(TRITONSERVER_InferenceRequest* request, const char* name, const InputData& data) {
    Input* const input = own(request).find(name);
    if (input == nullptr) {
        return no_input(name);
    }
    input->data.push_back(data);
    return nullptr;
}

TRITONSERVER_Error* set_parameter(TRITONSERVER_InferenceRequest* request, const char* key, ParameterValue value) {
    own(request).parameters.insert_or_assign(key, std::move(value));
    return nullptr;
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceRequestNew(TRITONSERVER_InferenceRequest** inference_request,
                                                     TRITONSERVER_Server* server, const char* model_name,
                                                     const int64_t model_version) {
    TRITONSERVER_Server& target = live(server);
    Model* model = nullptr;
    if (TRITONSERVER_Error* error = target.find_ready(model_name, model_version, model)) {
        return error;
    }
    *inference_request = new TRITONSERVER_InferenceRequest(target, *model);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestDelete(TRITONSERVER_InferenceRequest* inference_request) {
    delete &own(inference_request);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestId(TRITONSERVER_InferenceRequest* inference_request, const char** id) {
    *id = live(inference_request).id.c_str();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetId(TRITONSERVER_InferenceRequest* inference_request,
                                                       const char* id) {
    own(inference_request).id = id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestFlags(TRITONSERVER_InferenceRequest* inference_request,
                                                       uint32_t* flags) {
    *flags = live(inference_request).flags;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetFlags(TRITONSERVER_InferenceRequest* inference_request,
                                                          uint32_t flags) {
    own(inference_request).flags = flags;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationId(TRITONSERVER_InferenceRequest* inference_request,
                                                               uint64_t* correlation_id) {
    const TRITONSERVER_InferenceRequest& request = live(inference_request);
    if (!request.correlation_text.empty()) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "the correlation ID is a string");
    }
    *correlation_id = request.correlation_id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationIdString(TRITONSERVER_InferenceRequest* inference_request,
                                                                     const char** correlation_id) {
    const TRITONSERVER_InferenceRequest& request = live(inference_request);
    if (request.correlation_id != 0) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "the correlation ID is a number");
    }
    *correlation_id = request.correlation_text.c_str();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationId(TRITONSERVER_InferenceRequest* inference_request,
                                                                  uint64_t correlation_id) {
    TRITONSERVER_InferenceRequest& request = own(inference_request);
    request.correlation_id = correlation_id;
    request.correlation_text.clear();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char* correlation_id) {
    TRITONSERVER_InferenceRequest& request = own(inference_request);
    request.correlation_id = 0;
    request.correlation_text = correlation_id;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestCancel(TRITONSERVER_InferenceRequest* inference_request) {
    TRITONSERVER_InferenceRequest& request = live(inference_request);
    request.cancelled.store(true);
    request.server.workers.hurry(inference_request);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestIsCancelled(TRITONSERVER_InferenceRequest* inference_request,
                                                             bool* is_cancelled) {
    *is_cancelled = live(inference_request).cancelled.load();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriority(TRITONSERVER_InferenceRequest* inference_request,
                                                          uint32_t* priority) {
    *priority = static_cast<uint32_t>(live(inference_request).priority);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriorityUInt64(TRITONSERVER_InferenceRequest* inference_request,
                                                                uint64_t* priority) {
    *priority = live(inference_request).priority;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriority(TRITONSERVER_InferenceRequest* inference_request,
                                                             uint32_t priority) {
    own(inference_request).priority = priority;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriorityUInt64(TRITONSERVER_InferenceRequest* inference_request,
                                                                   uint64_t priority) {
    own(inference_request).priority = priority;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestTimeoutMicroseconds(TRITONSERVER_InferenceRequest* inference_request,
                                                                     uint64_t* timeout_us) {
    *timeout_us = live(inference_request).timeout_microseconds;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t timeout_us) {
    own(inference_request).timeout_microseconds = timeout_us;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddInput(TRITONSERVER_InferenceRequest* inference_request,
                                                          const char* name, const TRITONSERVER_DataType datatype,
                                                          const int64_t* shape, uint64_t dim_count) {
    return add_input(own(inference_request), {name, datatype, {shape, shape + dim_count}, {}});
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRawInput(TRITONSERVER_InferenceRequest* inference_request,
                                                             const char* name) {
    TRITONSERVER_InferenceRequest& request = own(inference_request);
    if (!request.inputs.empty()) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "a raw input must be the only input");
    }
    return add_input(request, {name, TRITONSERVER_TYPE_INVALID, {}, {}});
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveInput(TRITONSERVER_InferenceRequest* inference_request,
                                                             const char* name) {
    TRITONSERVER_InferenceRequest& request = own(inference_request);
    const Input* const input = request.find(name);
    if (input == nullptr) {
        return no_input(name);
    }
    request.inputs.erase(request.inputs.begin() + (input - request.inputs.data()));
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputs(TRITONSERVER_InferenceRequest* inference_request) {
    own(inference_request).inputs.clear();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputData(TRITONSERVER_InferenceRequest* inference_request,
                                                                 const char* name, const void* base, size_t byte_size,
                                                                 TRITONSERVER_MemoryType memory_type,
                                                                 int64_t memory_type_id) {
    return append(inference_request, name, {base, byte_size, memory_type, memory_type_id});
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base, size_t byte_size,
    TRITONSERVER_MemoryType memory_type, int64_t memory_type_id, const char* /*host_policy_name*/) {
    return append(inference_request, name, {base, byte_size, memory_type, memory_type_id});
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base,
    TRITONSERVER_BufferAttributes* buffer_attributes) {
    const TRITONSERVER_BufferAttributes& attributes = live(buffer_attributes);
    return append(inference_request, name,
                  {base, attributes.byte_size, attributes.memory_type, attributes.memory_type_id});
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputData(TRITONSERVER_InferenceRequest* inference_request,
                                                                    const char* name) {
    Input* const input = own(inference_request).find(name);
    if (input == nullptr) {
        return no_input(name);
    }
    input->data.clear();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRequestedOutput(TRITONSERVER_InferenceRequest* inference_request,
                                                                    const char* name) {
    own(inference_request).requested_outputs.emplace_back(name);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveRequestedOutput(TRITONSERVER_InferenceRequest* inference_request,
                                                                       const char* name) {
    std::vector<std::string>& names = own(inference_request).requested_outputs;
    names.erase(std::remove(names.begin(), names.end(), name), names.end());
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(
    TRITONSERVER_InferenceRequest* inference_request) {
    own(inference_request).requested_outputs.clear();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetReleaseCallback(
    TRITONSERVER_InferenceRequest* inference_request, TRITONSERVER_InferenceRequestReleaseFn_t request_release_fn,
    void* request_release_userp) {
    TRITONSERVER_InferenceRequest& request = own(inference_request);
    request.release = request_release_fn;
    request.release_user = request_release_userp;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetResponseCallback(
    TRITONSERVER_InferenceRequest* inference_request, TRITONSERVER_ResponseAllocator* response_allocator,
    void* response_allocator_userp, TRITONSERVER_InferenceResponseCompleteFn_t response_fn, void* response_userp) {
    TRITONSERVER_InferenceRequest& request = own(inference_request);
    request.allocator = &live(response_allocator);
    request.allocator_user = response_allocator_userp;
    request.respond = response_fn;
    request.respond_user = response_userp;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetStringParameter(TRITONSERVER_InferenceRequest* request,
                                                                    const char* key, const char* value) {
    return set_parameter(request, key, std::string(value));
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetIntParameter(TRITONSERVER_InferenceRequest* request,
                                                                 const char* key, const int64_t value) {
    return set_parameter(request, key, value);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetBoolParameter(TRITONSERVER_InferenceRequest* request,
                                                                  const char* key, const bool value) {
    return set_parameter(request, key, value);
}

TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetDoubleParameter(TRITONSERVER_InferenceRequest* request,
                                                                    const char* key, const double value) {
    return set_parameter(request, key, value);
}

}  // namespace implementation
}  // namespace fake_triton
