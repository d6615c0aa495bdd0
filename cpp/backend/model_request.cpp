#include "backend/model_request.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "backend/input_gatherer.h"
#include "core/request_block.h"
#include "runtime/function_table.h"
#include "tensor/deferred_release.h"
#include "tensor/transfer.h"

namespace triton_inprocess {
namespace {

std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct DeleteResponse {
    void operator()(TRITONBACKEND_Response* response) const noexcept {
        ignore(api().TRITONBACKEND_ResponseDelete(response));
    }
};
using ResponsePointer = std::unique_ptr<TRITONBACKEND_Response, DeleteResponse>;

/// One overload for each type of parameter.
struct SetParameter {
    TRITONBACKEND_Response* response;
    const char* name;

    void operator()(const std::string& value) const {
        check(api().TRITONBACKEND_ResponseSetStringParameter(response, name, value.c_str()));
    }
    void operator()(std::int64_t value) const {
        check(api().TRITONBACKEND_ResponseSetIntParameter(response, name, value));
    }
    void operator()(bool value) const { check(api().TRITONBACKEND_ResponseSetBoolParameter(response, name, value)); }
    void operator()(double value) const {
        check(api().TRITONBACKEND_ResponseSetDoubleParameter(response, name, value));
    }
};

void write_output(TRITONBACKEND_Response* response, const ModelRequest::NamedTensor& output) {
    const std::vector<std::int64_t>& shape = output.tensor.shape();
    TRITONBACKEND_Output* target = nullptr;
    check(api().TRITONBACKEND_ResponseOutput(response, &target, output.name.c_str(), output.tensor.data_type(),
                                             shape.data(), static_cast<std::uint32_t>(shape.size())));
    const std::size_t byte_size = output.tensor.buffer()->byte_size();
    void* buffer = nullptr;
    MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
    std::int64_t memory_type_id = 0;
    check(api().TRITONBACKEND_OutputBuffer(target, &buffer, byte_size, &memory_type, &memory_type_id));
    copy_from_host(output.tensor.buffer()->data(), buffer, {memory_type, memory_type_id}, byte_size);
}

/// Leaves the traceback of a function where the caller finds it: he is in this process.
void leave_detail(TRITONBACKEND_Request* request, const Error& error) {
    const Ref<RequestBlock> block = RequestBlock::find(reinterpret_cast<const TRITONSERVER_InferenceRequest*>(request));
    if (block && !error.detail().empty()) {
        block->set_error_detail(error.detail());
    }
}

}  // namespace

ModelRequest::ModelRequest(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                           TRITONBACKEND_Request* request)
    : function_(&function), instance_(instance), request_(request), started_(now()), compute_started_(started_) {
    ignore(api().TRITONBACKEND_ResponseFactoryNew(&factory_, request));
}

ModelRequest::~ModelRequest() {
    if (open()) {
        const Error error(TRITONSERVER_ERROR_INTERNAL,
                          "model '" + function_->model_name() + "' has let go of a request without its last response");
        try {
            send({}, {}, &error, true, true);
        } catch (const std::exception&) {
            const std::scoped_lock guard(mutex_);
            end_responses();
        }
    }
    release(false);
}

void ModelRequest::read() {
    std::uint32_t count = 0;
    check(api().TRITONBACKEND_RequestInputCount(request_, &count));
    information_ = std::make_unique<RequestInformation>(request_);
    for (std::uint32_t i = 0; i < count; ++i) {
        read_input_at(i);
    }
    read_outputs();
    read_trace();
    compute_started_ = now();
}

void ModelRequest::read_input_at(std::uint32_t index) {
    TRITONBACKEND_Input* input = nullptr;
    check(api().TRITONBACKEND_RequestInputByIndex(request_, index, &input));
    const char* name = nullptr;
    DataType data_type = TRITONSERVER_TYPE_INVALID;
    check(api().TRITONBACKEND_InputProperties(input, &name, &data_type, nullptr, nullptr, nullptr, nullptr));
    const TensorSpec spec{name, data_type, {}};
    const std::vector<RequestInput> pieces{read_input(request_, spec)};
    if (index == 0 && function_->batched() && !pieces.front().shape.empty()) {
        rows_ = pieces.front().shape.front();
    }
    inputs_.push_back({spec.name, gather_input(*function_, spec, &request_, pieces, nullptr)});
}

void ModelRequest::read_outputs() {
    std::uint32_t count = 0;
    check(api().TRITONBACKEND_RequestOutputCount(request_, &count));
    for (std::uint32_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        check(api().TRITONBACKEND_RequestOutputName(request_, i, &name));
        requested_outputs_.emplace_back(name);
    }
}

void ModelRequest::read_trace() {
    TRITONSERVER_InferenceTrace* trace = nullptr;
    ignore(api().TRITONBACKEND_RequestTrace(request_, &trace));
    const char* context = nullptr;
    if (trace != nullptr) {
        ignore(api().TRITONSERVER_InferenceTraceContext(trace, &context));
    }
    trace_context_ = context != nullptr ? context : "";
}

bool ModelRequest::cancelled() const noexcept {
    const std::scoped_lock guard(mutex_);
    bool cancelled = false;
    if (factory_ != nullptr) {
        // A library without it cannot cancel, either.
        ignore(api().TRITONBACKEND_ResponseFactoryIsCancelled(factory_, &cancelled));
    }
    return cancelled;
}

bool ModelRequest::open() const noexcept {
    const std::scoped_lock guard(mutex_);
    return factory_ != nullptr;
}

bool ModelRequest::is_requested(const std::string& output) const noexcept {
    return std::find(requested_outputs_.begin(), requested_outputs_.end(), output) != requested_outputs_.end();
}

void ModelRequest::require_open() const {
    if (factory_ == nullptr) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "the last response to the request was sent already");
    }
}

void ModelRequest::send(const std::vector<NamedTensor>& outputs, const Parameters& parameters, const Error* error,
                        bool final, bool release) {
    const DeferredRelease::ConsumerComes scope;
    const std::scoped_lock guard(mutex_);
    require_open();
    TRITONBACKEND_Response* made = nullptr;
    check(api().TRITONBACKEND_ResponseNewFromFactory(&made, factory_));
    ResponsePointer response(made);
    for (const auto& [name, value] : parameters) {
        std::visit(SetParameter{made, name.c_str()}, value);
    }
    for (const NamedTensor& output : outputs) {
        if (is_requested(output.name)) {
            write_output(made, output);
        }
    }
    if (error != nullptr && request_ != nullptr) {
        leave_detail(request_, *error);
    }
    if (release) {
        release_locked(error == nullptr);
    }
    TRITONSERVER_Error* const c_error = error != nullptr ? error->to_c() : nullptr;
    const std::uint32_t flags = final ? std::uint32_t{TRITONSERVER_RESPONSE_COMPLETE_FINAL} : 0;
    ignore(api().TRITONBACKEND_ResponseSend(response.release(), flags, c_error));
    ignore(c_error);
    if (final) {
        end_responses();
    }
}

void ModelRequest::close() {
    const DeferredRelease::ConsumerComes scope;
    const std::scoped_lock guard(mutex_);
    require_open();
    ignore(api().TRITONBACKEND_ResponseFactorySendFlags(factory_, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
    end_responses();
}

void ModelRequest::end_responses() noexcept {
    if (factory_ != nullptr) {
        ignore(api().TRITONBACKEND_ResponseFactoryDelete(std::exchange(factory_, nullptr)));
    }
}

void ModelRequest::release(bool succeeded) noexcept {
    const std::scoped_lock guard(mutex_);
    release_locked(succeeded);
}

void ModelRequest::release_locked(bool succeeded) noexcept {
    if (request_ == nullptr) {
        return;
    }
    const std::uint64_t ended = now();
    ignore(api().TRITONBACKEND_ModelInstanceReportStatistics(instance_, request_, succeeded, started_, compute_started_,
                                                             ended, ended));
    ignore(api().TRITONBACKEND_RequestRelease(std::exchange(request_, nullptr), TRITONSERVER_REQUEST_RELEASE_ALL));
}

void ModelRequest::reschedule() {
    const std::scoped_lock guard(mutex_);
    require_open();
    check(api().TRITONBACKEND_RequestRelease(request_, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE));
    request_ = nullptr;
    end_responses();
}

}  // namespace triton_inprocess
