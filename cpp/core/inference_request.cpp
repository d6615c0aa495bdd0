#include "core/inference_request.h"

#include <utility>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {

InferenceRequest::InferenceRequest(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version,
                                   RequestBlock::Use use)
    : block_(make_ref<RequestBlock>(std::move(server), model_name, model_version, use)) {}

void InferenceRequest::set_id(const std::string& id) {
    check(api().TRITONSERVER_InferenceRequestSetId(block_->idle().get(), id.c_str()));
}

void InferenceRequest::set_flags(std::uint32_t flags) {
    check(api().TRITONSERVER_InferenceRequestSetFlags(block_->idle().get(), flags));
}

void InferenceRequest::set_correlation_id(std::uint64_t id) {
    check(api().TRITONSERVER_InferenceRequestSetCorrelationId(block_->idle().get(), id));
}

void InferenceRequest::set_correlation_id(const std::string& id) {
    check(api().TRITONSERVER_InferenceRequestSetCorrelationIdString(block_->idle().get(), id.c_str()));
}

void InferenceRequest::set_priority(std::uint64_t priority) {
    if (priority <= UINT32_MAX) {
        // Every version has this one.
        check(
            api().TRITONSERVER_InferenceRequestSetPriority(block_->idle().get(), static_cast<std::uint32_t>(priority)));
    } else {
        check(api().TRITONSERVER_InferenceRequestSetPriorityUInt64(block_->idle().get(), priority));
    }
}

void InferenceRequest::set_timeout_microseconds(std::uint64_t timeout) {
    check(api().TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(block_->idle().get(), timeout));
}

void InferenceRequest::add_input(const std::string& name, const Tensor& tensor) {
    const RequestBlock::Idle held = block_->idle();
    TRITONSERVER_InferenceRequest* const request = held.get();
    const auto& shape = tensor.shape();
    check(api().TRITONSERVER_InferenceRequestAddInput(request, name.c_str(), tensor.data_type(), shape.data(),
                                                      shape.size()));
    try {
        const Buffer& buffer = *tensor.buffer();
        if (buffer.byte_size() != 0) {
            check(api().TRITONSERVER_InferenceRequestAppendInputData(request, name.c_str(), buffer.data(),
                                                                     buffer.byte_size(), buffer.memory_type(),
                                                                     buffer.memory_type_id()));
        }
        block_->keep(name, tensor.buffer());
    } catch (...) {
        ignore(api().TRITONSERVER_InferenceRequestRemoveInput(request, name.c_str()));
        throw;
    }
}

void InferenceRequest::remove_input(const std::string& name) {
    std::vector<Ref<Buffer>> let_go;  // after unlocking
    const RequestBlock::Idle held = block_->idle();
    check(api().TRITONSERVER_InferenceRequestRemoveInput(held.get(), name.c_str()));
    let_go = block_->take(name);
}

void InferenceRequest::add_requested_output(const std::string& name) {
    check(api().TRITONSERVER_InferenceRequestAddRequestedOutput(block_->idle().get(), name.c_str()));
}

void InferenceRequest::set_parameter(const std::string& name, const std::string& value) {
    check(api().TRITONSERVER_InferenceRequestSetStringParameter(block_->idle().get(), name.c_str(), value.c_str()));
}

void InferenceRequest::set_parameter(const std::string& name, std::int64_t value) {
    check(api().TRITONSERVER_InferenceRequestSetIntParameter(block_->idle().get(), name.c_str(), value));
}

void InferenceRequest::set_parameter(const std::string& name, bool value) {
    check(api().TRITONSERVER_InferenceRequestSetBoolParameter(block_->idle().get(), name.c_str(), value));
}

void InferenceRequest::set_parameter(const std::string& name, double value) {
    check(api().TRITONSERVER_InferenceRequestSetDoubleParameter(block_->idle().get(), name.c_str(), value));
}

}  // namespace triton_inprocess
