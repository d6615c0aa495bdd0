#include "core/inference_response.h"

#include <utility>

#include "core/parameter.h"
#include "core/response_allocator.h"
#include "runtime/function_table.h"
#include "tensor/host_buffer_pool.h"

namespace triton_inprocess {
namespace {

struct DeleteResponse {
    void operator()(TRITONSERVER_InferenceResponse* response) const noexcept {
        ignore(api().TRITONSERVER_InferenceResponseDelete(response));
    }
};

InferenceResponse::Parameter read_parameter(TRITONSERVER_InferenceResponse* response, std::uint32_t index) {
    const char* name = nullptr;
    const void* value = nullptr;
    TRITONSERVER_ParameterType type = TRITONSERVER_PARAMETER_STRING;
    check(api().TRITONSERVER_InferenceResponseParameter(response, index, &name, &type, &value));
    switch (type) {
        case TRITONSERVER_PARAMETER_STRING:
            return {name, std::string(static_cast<const char*>(value))};
        case TRITONSERVER_PARAMETER_INT:
            return {name, *static_cast<const std::int64_t*>(value)};
        case TRITONSERVER_PARAMETER_BOOL:
            return {name, *static_cast<const bool*>(value)};
        case TRITONSERVER_PARAMETER_DOUBLE:
            if (triton_inprocess::Parameter::doubles()) {
                return {name, *static_cast<const double*>(value)};
            }
            break;  // it is BYTES
        case TRITONSERVER_PARAMETER_BYTES:
            break;  // the C API gives no length for these, and Triton sends none in responses
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED, std::string("response parameter '") + name + "' has parameter type " +
                                                    std::to_string(static_cast<int>(type)) +
                                                    ", which cannot be read from a response");
}

InferenceResponse::Output read_output(TRITONSERVER_InferenceResponse* response, std::uint32_t index,
                                      std::int64_t model_version, ClassLabels* labels) {
    const char* name = nullptr;
    DataType data_type = TRITONSERVER_TYPE_INVALID;
    const std::int64_t* shape = nullptr;
    std::uint64_t rank = 0;
    const void* base = nullptr;
    std::size_t byte_size = 0;
    MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
    std::int64_t memory_type_id = 0;
    void* user = nullptr;
    check(api().TRITONSERVER_InferenceResponseOutput(response, index, &name, &data_type, &shape, &rank, &base,
                                                     &byte_size, &memory_type, &memory_type_id, &user));
    // A backend may describe an output and never ask for its memory.
    Ref<Buffer> buffer = user != nullptr ? ResponseAllocator::buffer(user) : HostBufferPool::instance().allocate(0);
    Tensor tensor(data_type, std::vector<std::int64_t>(shape, shape + rank), std::move(buffer));
    ClassLabels::Labels read;
    if (labels != nullptr) {
        read = labels->of_output(response, index, name, model_version, tensor.element_count());
    }
    return {name, std::move(tensor), std::move(read)};
}

void read(TRITONSERVER_InferenceResponse* response, InferenceResponse& target, ClassLabels* labels) {
    const char* text = nullptr;
    check(api().TRITONSERVER_InferenceResponseModel(response, &text, &target.model_version));
    target.model_name = text;
    check(api().TRITONSERVER_InferenceResponseId(response, &text));
    target.request_id = text;
    try {
        check(api().TRITONSERVER_InferenceResponseError(response));
    } catch (Error& error) {
        target.error.emplace(std::move(error));
        return;
    }
    std::uint32_t count = 0;
    check(api().TRITONSERVER_InferenceResponseParameterCount(response, &count));
    target.parameters.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        target.parameters.push_back(read_parameter(response, i));
    }
    check(api().TRITONSERVER_InferenceResponseOutputCount(response, &count));
    target.outputs.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        target.outputs.push_back(read_output(response, i, target.model_version, labels));
    }
}

}  // namespace

std::unique_ptr<InferenceResponse> InferenceResponse::take(TRITONSERVER_InferenceResponse* response,
                                                           std::uint32_t flags, ClassLabels* labels) noexcept {
    auto result = std::make_unique<InferenceResponse>();
    result->final = (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
    if (response == nullptr) {
        return result;
    }
    result->empty = false;
    const std::unique_ptr<TRITONSERVER_InferenceResponse, DeleteResponse> owner(response);
    try {
        read(response, *result, labels);
    } catch (const Error& error) {
        result->error.emplace(error);
    } catch (const std::exception& error) {
        result->error.emplace(TRITONSERVER_ERROR_INTERNAL, std::string("cannot read the response: ") + error.what());
    }
    return result;
}

std::unique_ptr<InferenceResponse> InferenceResponse::copy() const {
    auto result = std::make_unique<InferenceResponse>();
    result->model_name = model_name;
    result->model_version = model_version;
    result->request_id = request_id;
    result->parameters = parameters;
    result->outputs = outputs;
    result->error = error;
    result->final = final;
    result->empty = empty;
    result->python_memory = python_memory;
    return result;
}

}  // namespace triton_inprocess
