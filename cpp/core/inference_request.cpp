#include "core/inference_request.h"

#include <utility>

#include "core/c_text.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

template <typename Value>
Value read(TRITONSERVER_Error* (*getter)(TRITONSERVER_InferenceRequest*, Value*), RequestBlock& block) {
    const RequestBlock::Locked held = block.readable();
    Value value{};
    check(getter(held.get(), &value));
    return value;
}

/// The text is copied while the request is locked: it is the request's.
std::string read_text(TRITONSERVER_Error* (*getter)(TRITONSERVER_InferenceRequest*, const char**),
                      RequestBlock& block) {
    const RequestBlock::Locked held = block.readable();
    const char* text = nullptr;
    check(getter(held.get(), &text));
    return text != nullptr ? text : "";
}

void check_address(const std::string& name, const void* data, std::size_t byte_size) {
    if (data == nullptr && byte_size != 0) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the address of " + std::to_string(byte_size) + " bytes for input '" + name + "' is 0");
    }
}

}  // namespace

InferenceRequest::InferenceRequest(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version,
                                   RequestBlock::Use use)
    : block_(make_ref<RequestBlock>(std::move(server), model_name, model_version, use)) {}

std::string InferenceRequest::id() {
    return read_text(api().TRITONSERVER_InferenceRequestId, *block_);
}

std::uint32_t InferenceRequest::flags() {
    return read(api().TRITONSERVER_InferenceRequestFlags, *block_);
}

std::uint64_t InferenceRequest::correlation_id() {
    return read(api().TRITONSERVER_InferenceRequestCorrelationId, *block_);
}

std::string InferenceRequest::correlation_id_string() {
    return read_text(api().TRITONSERVER_InferenceRequestCorrelationIdString, *block_);
}

std::uint32_t InferenceRequest::priority() {
    return read(api().TRITONSERVER_InferenceRequestPriority, *block_);
}

std::uint64_t InferenceRequest::priority_uint64() {
    return read(api().TRITONSERVER_InferenceRequestPriorityUInt64, *block_);
}

std::uint64_t InferenceRequest::timeout_microseconds() {
    return read(api().TRITONSERVER_InferenceRequestTimeoutMicroseconds, *block_);
}

void InferenceRequest::set_id(const std::string& id) {
    check(api().TRITONSERVER_InferenceRequestSetId(block_->idle().get(), c_text(id, "id")));
}

void InferenceRequest::set_flags(std::uint32_t flags) {
    check(api().TRITONSERVER_InferenceRequestSetFlags(block_->idle().get(), flags));
}

void InferenceRequest::set_correlation_id(std::uint64_t id) {
    check(api().TRITONSERVER_InferenceRequestSetCorrelationId(block_->idle().get(), id));
}

void InferenceRequest::set_correlation_id(const std::string& id) {
    check(api().TRITONSERVER_InferenceRequestSetCorrelationIdString(block_->idle().get(), c_text(id, "id")));
}

void InferenceRequest::set_priority(std::uint64_t priority) {
    if (priority <= UINT32_MAX) {
        set_priority_uint32(static_cast<std::uint32_t>(priority));  // which every version has
    } else {
        set_priority_uint64(priority);
    }
}

void InferenceRequest::set_priority_uint32(std::uint32_t priority) {
    check(api().TRITONSERVER_InferenceRequestSetPriority(block_->idle().get(), priority));
}

void InferenceRequest::set_priority_uint64(std::uint64_t priority) {
    check(api().TRITONSERVER_InferenceRequestSetPriorityUInt64(block_->idle().get(), priority));
}

void InferenceRequest::set_timeout_microseconds(std::uint64_t timeout) {
    check(api().TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(block_->idle().get(), timeout));
}

void InferenceRequest::add_input(const std::string& name, const Tensor& tensor) {
    const RequestBlock::Locked held = block_->idle();
    TRITONSERVER_InferenceRequest* const request = held.get();
    const auto& shape = tensor.shape();
    check(api().TRITONSERVER_InferenceRequestAddInput(request, c_text(name, "name"), tensor.data_type(), shape.data(),
                                                      shape.size()));
    try {
        const Buffer& buffer = *tensor.buffer();
        if (buffer.byte_size() != 0) {
            check(api().TRITONSERVER_InferenceRequestAppendInputData(request, c_text(name, "name"), buffer.data(),
                                                                     buffer.byte_size(), buffer.memory_type(),
                                                                     buffer.memory_type_id()));
        }
        block_->keep(tensor.buffer());
    } catch (...) {
        ignore(api().TRITONSERVER_InferenceRequestRemoveInput(request, c_text(name, "name")));
        throw;
    }
}

void InferenceRequest::add_input(const std::string& name, DataType data_type, const std::vector<std::int64_t>& shape) {
    check(api().TRITONSERVER_InferenceRequestAddInput(block_->idle().get(), c_text(name, "name"), data_type,
                                                      shape.data(), shape.size()));
}

void InferenceRequest::add_raw_input(const std::string& name) {
    check(api().TRITONSERVER_InferenceRequestAddRawInput(block_->idle().get(), c_text(name, "name")));
}

void InferenceRequest::append_input_data(const std::string& name, const void* data, std::size_t byte_size,
                                         MemoryType memory_type, std::int64_t memory_type_id) {
    check_address(name, data, byte_size);
    check(api().TRITONSERVER_InferenceRequestAppendInputData(block_->idle().get(), c_text(name, "name"), data,
                                                             byte_size, memory_type, memory_type_id));
}

void InferenceRequest::append_input_data(const std::string& name, const void* data, std::size_t byte_size,
                                         MemoryType memory_type, std::int64_t memory_type_id,
                                         const std::string& host_policy) {
    check_address(name, data, byte_size);
    check(api().TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(block_->idle().get(), c_text(name, "name"),
                                                                           data, byte_size, memory_type, memory_type_id,
                                                                           c_text(host_policy, "host_policy")));
}

void InferenceRequest::append_input_data(const std::string& name, const void* data,
                                         const BufferAttributes& attributes) {
    check_address(name, data, attributes.byte_size());
    check(api().TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
        block_->idle().get(), c_text(name, "name"), data, attributes.get()));
}

void InferenceRequest::remove_all_input_data(const std::string& name) {
    check(api().TRITONSERVER_InferenceRequestRemoveAllInputData(block_->idle().get(), c_text(name, "name")));
}

void InferenceRequest::remove_all_inputs() {
    check(api().TRITONSERVER_InferenceRequestRemoveAllInputs(block_->idle().get()));
}

void InferenceRequest::remove_input(const std::string& name) {
    check(api().TRITONSERVER_InferenceRequestRemoveInput(block_->idle().get(), c_text(name, "name")));
}

void InferenceRequest::add_requested_output(const std::string& name) {
    check(api().TRITONSERVER_InferenceRequestAddRequestedOutput(block_->idle().get(), c_text(name, "name")));
}

void InferenceRequest::remove_requested_output(const std::string& name) {
    check(api().TRITONSERVER_InferenceRequestRemoveRequestedOutput(block_->idle().get(), c_text(name, "name")));
}

void InferenceRequest::remove_all_requested_outputs() {
    check(api().TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(block_->idle().get()));
}

void InferenceRequest::set_parameter(const std::string& key, const std::string& value) {
    check(api().TRITONSERVER_InferenceRequestSetStringParameter(block_->idle().get(), c_text(key, "key"),
                                                                c_text(value, "value")));
}

void InferenceRequest::set_parameter(const std::string& key, std::int64_t value) {
    check(api().TRITONSERVER_InferenceRequestSetIntParameter(block_->idle().get(), c_text(key, "key"), value));
}

void InferenceRequest::set_parameter(const std::string& key, bool value) {
    check(api().TRITONSERVER_InferenceRequestSetBoolParameter(block_->idle().get(), c_text(key, "key"), value));
}

void InferenceRequest::set_parameter(const std::string& key, double value) {
    check(api().TRITONSERVER_InferenceRequestSetDoubleParameter(block_->idle().get(), c_text(key, "key"), value));
}

void InferenceRequest::set_trace(Ref<TraceRecord> record, Ref<InferenceTrace> child) {
    trace_ = std::move(record);
    child_trace_ = std::move(child);
}

void InferenceRequest::submit(Ref<ResponseQueue> queue, Ref<RequestOutputs> outputs, const std::string& model_name,
                              std::int64_t model_version) {
    // Several threads may be here: nothing of this object changes.
    const Ref<TraceRecord> record = trace_ ? trace_ : block_->server().next_trace();
    if (record) {
        submit_traced(std::move(queue), std::move(outputs), *record, child_trace_, {id(), model_name, model_version});
    } else {
        block_->submit(std::move(queue), std::move(outputs));
    }
}

void InferenceRequest::submit_traced(Ref<ResponseQueue> queue, Ref<RequestOutputs> outputs, TraceRecord& record,
                                     const Ref<InferenceTrace>& child, const TraceRecord::Request& told) {
    Ref<InferenceTrace> trace = child;
    if (child) {
        record.begin_child(child, told);
    } else {
        trace = record.begin(told);
    }
    try {
        block_->submit(std::move(queue), std::move(outputs), trace);
    } catch (const Error& error) {
        record.failed(trace, error);
        throw;
    }
    record.sent();
}

}  // namespace triton_inprocess
