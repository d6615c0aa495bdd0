#include "inference_response.h"

#include <cstring>

#include "breach.h"
#include "buffer_attributes.h"
#include "error.h"
#include "implementation.h"
#include "response_allocator.h"
#include "server.h"

using namespace fake_triton;

TRITONSERVER_InferenceResponse::TRITONSERVER_InferenceResponse(const TRITONSERVER_InferenceRequest& request)
    : server(request.server),
      allocator(*request.allocator),
      model_name(request.model.name),
      id(request.id),
      has_labels(request.model.behaviour.labels),
      allocator_user_(request.allocator_user) {
    server.add_user();
    ++allocator.uses;
    if (allocator.start != nullptr) {
        const std::string message = take_message(allocator.start(&allocator, allocator_user_));
        if (!message.empty()) {
            fail(TRITONSERVER_ERROR_INTERNAL, message);
        }
    }
}

TRITONSERVER_InferenceResponse::~TRITONSERVER_InferenceResponse() {
    live(&server);
    live(&allocator);
    for (const Output& output : outputs) {
        take_message(allocator.release(&allocator, output.base, output.user, output.byte_size, output.memory_type,
                                       output.memory_type_id));
    }
    --allocator.uses;
    server.remove_user();
}

void TRITONSERVER_InferenceResponse::add_output(const Input& input) {
    Output output{output_name(input.name), input.data_type,         input.shape, nullptr,
                  input.byte_size(),       TRITONSERVER_MEMORY_CPU, 0,           nullptr};
    if (output.data_type == TRITONSERVER_TYPE_INVALID) {  // a raw input
        output.data_type = TRITONSERVER_TYPE_UINT8;
        output.shape = {static_cast<std::int64_t>(output.byte_size)};
    }
    const std::string message = allocate(output);
    if (!message.empty()) {
        fail(TRITONSERVER_ERROR_INTERNAL, message);
        return;
    }
    auto* target = static_cast<char*>(output.base);
    for (const InputData& piece : input.data) {
        if (piece.byte_size != 0) {
            std::memcpy(target, piece.base, piece.byte_size);
            target += piece.byte_size;
        }
    }
    outputs.push_back(std::move(output));
}

void TRITONSERVER_InferenceResponse::fail(TRITONSERVER_Error_Code code, std::string message) {
    if (!error) {
        error = ResponseError{code, std::move(message)};
    }
}

std::string TRITONSERVER_InferenceResponse::allocate(Output& output) {
    if (allocator.query != nullptr) {
        std::size_t byte_size = output.byte_size;
        std::string message = take_message(allocator.query(&allocator, allocator_user_, output.name.c_str(), &byte_size,
                                                           &output.memory_type, &output.memory_type_id));
        if (!message.empty()) {
            return message;
        }
    }
    const TRITONSERVER_MemoryType wanted = output.memory_type;
    const std::int64_t wanted_id = output.memory_type_id;
    std::string message = take_message(allocator.alloc(&allocator, output.name.c_str(), output.byte_size, wanted,
                                                       wanted_id, allocator_user_, &output.base, &output.user,
                                                       &output.memory_type, &output.memory_type_id));
    if (!message.empty()) {
        return message;
    }
    if (allocator.buffer_attributes != nullptr) {
        TRITONSERVER_BufferAttributes attributes;
        attributes.byte_size = output.byte_size;
        attributes.memory_type = output.memory_type;
        attributes.memory_type_id = output.memory_type_id;
        message = take_message(
            allocator.buffer_attributes(&allocator, output.name.c_str(), &attributes, allocator_user_, output.user));
    }
    return message;
}

namespace fake_triton::implementation {
namespace {

TRITONSERVER_Error* out_of_range(uint32_t index) {
    return failure(TRITONSERVER_ERROR_INVALID_ARG, "index " + std::to_string(index) + " is out of range");
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_InferenceResponseDelete(TRITONSERVER_InferenceResponse* inference_response) {
    delete &live(inference_response);
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseError(TRITONSERVER_InferenceResponse* inference_response) {
    const std::optional<ResponseError>& error = live(inference_response).error;
    return error ? failure(error->code, error->message) : nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseModel(TRITONSERVER_InferenceResponse* inference_response,
                                                        const char** model_name, int64_t* model_version) {
    *model_name = live(inference_response).model_name.c_str();
    *model_version = Model::version;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseId(TRITONSERVER_InferenceResponse* inference_response,
                                                     const char** request_id) {
    *request_id = live(inference_response).id.c_str();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameterCount(TRITONSERVER_InferenceResponse* inference_response,
                                                                 uint32_t* count) {
    *count = static_cast<uint32_t>(live(inference_response).parameters.size());
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameter(TRITONSERVER_InferenceResponse* inference_response,
                                                            const uint32_t index, const char** name,
                                                            TRITONSERVER_ParameterType* type, const void** vvalue) {
    const auto& parameters = live(inference_response).parameters;
    if (index >= parameters.size()) {
        return out_of_range(index);
    }
    *name = parameters[index].first.c_str();
    *type = parameters[index].second.type();
    *vvalue = parameters[index].second.pointer();
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputCount(TRITONSERVER_InferenceResponse* inference_response,
                                                              uint32_t* count) {
    *count = static_cast<uint32_t>(live(inference_response).outputs.size());
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutput(TRITONSERVER_InferenceResponse* inference_response,
                                                         const uint32_t index, const char** name,
                                                         TRITONSERVER_DataType* datatype, const int64_t** shape,
                                                         uint64_t* dim_count, const void** base, size_t* byte_size,
                                                         TRITONSERVER_MemoryType* memory_type, int64_t* memory_type_id,
                                                         void** userp) {
    const auto& outputs = live(inference_response).outputs;
    if (index >= outputs.size()) {
        return out_of_range(index);
    }
    const Output& output = outputs[index];
    *name = output.name.c_str();
    *datatype = output.data_type;
    *shape = output.shape.data();
    *dim_count = output.shape.size();
    *base = output.base;
    *byte_size = output.byte_size;
    *memory_type = output.memory_type;
    *memory_type_id = output.memory_type_id;
    *userp = output.user;
    return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputClassificationLabel(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const size_t class_index,
    const char** label) {
    constexpr std::array<const char*, 3> labels = {"first", "second", "third"};
    const TRITONSERVER_InferenceResponse& response = live(inference_response);
    if (index >= response.outputs.size()) {
        return out_of_range(index);
    }
    *label = response.has_labels && class_index < labels.size() ? labels[class_index] : nullptr;
    return nullptr;
}

}  // namespace fake_triton::implementation
