#include "backend/request_batch.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "backend/input_gatherer.h"
#include "backend/output_rows.h"
#include "core/output_offer.h"
#include "core/request_block.h"
#include "runtime/function_table.h"
#include "tensor/deferred_release.h"
#include "tensor/transfer.h"

namespace triton_inprocess {
namespace {

std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Whether the requests can be joined along their first dimension.
bool joinable(const std::vector<RequestInput>& inputs) noexcept {
    const auto& first = inputs.front().shape;
    return std::all_of(inputs.begin(), inputs.end(), [&](const RequestInput& input) {
        return input.shape.size() == first.size() && !first.empty() &&
               std::equal(first.begin() + 1, first.end(), input.shape.begin() + 1);
    });
}

bool requested(TRITONBACKEND_Request* request, const std::string& output) {
    std::uint32_t count = 0;
    check(api().TRITONBACKEND_RequestOutputCount(request, &count));
    for (std::uint32_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        check(api().TRITONBACKEND_RequestOutputName(request, i, &name));
        if (output == name) {
            return true;
        }
    }
    return false;
}

/// Leaves what is longer than a message, such as a traceback, where the caller finds it: he is in this process.
void leave_detail(TRITONBACKEND_Request* request, const Error& error) {
    if (error.detail().empty()) {
        return;
    }
    const Ref<RequestBlock> block = RequestBlock::find(reinterpret_cast<const TRITONSERVER_InferenceRequest*>(request));
    if (block) {
        block->set_error_detail(error.detail());
    }
}

void send_response(TRITONBACKEND_Response* response, std::uint32_t flags,
                   const std::optional<Error>& failure) noexcept {
    if (response == nullptr) {
        return;  // Triton could not make one: it has nothing to send either
    }
    TRITONSERVER_Error* const error = failure ? failure->to_c() : nullptr;
    ignore(api().TRITONBACKEND_ResponseSend(response, flags, error));
    ignore(error);
}

}  // namespace

bool is_cancelled(TRITONBACKEND_Request* request) noexcept {
    bool cancelled = false;
    ignore(api().TRITONBACKEND_RequestIsCancelled(request, &cancelled));
    return cancelled;
}

/// The outputs of all requests, and where the rows of each request lie in them.
class RequestBatch::Outputs {
  public:
    Outputs(const std::vector<FunctionOutput>& outputs, std::size_t request_count, std::int64_t rows)
        : outputs_(outputs) {
        if (request_count > 1) {
            rows_.reserve(outputs.size());
            for (const FunctionOutput& output : outputs) {
                rows_.emplace_back(output.tensor, rows);
            }
        }
    }

    std::size_t size() const noexcept { return outputs_.size(); }
    const FunctionOutput& operator[](std::size_t index) const noexcept { return outputs_[index]; }

    /// Null where one request has it all.
    const OutputRows* rows(std::size_t index) const noexcept { return rows_.empty() ? nullptr : &rows_[index]; }

  private:
    const std::vector<FunctionOutput>& outputs_;
    std::vector<OutputRows> rows_;
};

struct RequestBatch::Answer {
    TRITONBACKEND_Response* response = nullptr;
    std::optional<Error> error;
};

RequestBatch::RequestBatch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                           std::vector<TRITONBACKEND_Request*> requests)
    : function_(&function),
      instance_(instance),
      requests_(std::move(requests)),
      started_(now()),
      compute_started_(started_),
      compute_ended_(started_) {}

RequestBatch::~RequestBatch() {
    if (!answered()) {
        fail(Error(TRITONSERVER_ERROR_INTERNAL,
                   "the function of model '" + function_->model_name() + "' has ended without an answer"));
    }
}

std::vector<Tensor> RequestBatch::read_inputs() {
    rows_.assign(requests_.size(), 1);
    if (function_->watches_inputs()) {
        watch_ = make_ref<InputWatch>();
    }
    std::vector<Tensor> tensors;
    tensors.reserve(function_->inputs().size());
    for (const TensorSpec& spec : function_->inputs()) {
        std::vector<RequestInput> inputs;
        inputs.reserve(requests_.size());
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            inputs.push_back(read_input(requests_[i], spec));
            if (function_->batched()) {
                rows_[i] = inputs.back().shape.empty() ? 0 : inputs.back().shape.front();
            }
        }
        if (inputs.size() > 1 && !joinable(inputs)) {
            throw Error(TRITONSERVER_ERROR_INTERNAL,
                        "requests of different shapes of input '" + spec.name + "' came in one batch");
        }
        tensors.push_back(gather_input(*function_, spec, requests_.data(), inputs, watch_));
    }
    total_rows_ = 0;
    for (const std::int64_t rows : rows_) {
        total_rows_ += rows;
    }
    return tensors;
}

bool RequestBatch::cancelled() const noexcept {
    return std::all_of(requests_.begin(), requests_.end(), is_cancelled);
}

void RequestBatch::computation_begins() noexcept {
    compute_started_ = compute_ended_ = now();
}

void RequestBatch::computation_ends() noexcept {
    compute_ended_ = now();
}

void RequestBatch::answer(std::vector<FunctionOutput> outputs) noexcept {
    const DeferredRelease::ConsumerComes scope;
    finish(std::move(outputs), nullptr, true);
}

void RequestBatch::fail(const Error& error) noexcept {
    const DeferredRelease::ConsumerComes scope;
    finish({}, &error, false);
}

void RequestBatch::finish(std::vector<FunctionOutput> outputs, const Error* error, bool succeeded) noexcept {
    std::vector<Answer> answers;
    answers.reserve(requests_.size());
    const Outputs divided(outputs, requests_.size(), total_rows_);
    std::int64_t first_row = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        answers.push_back(prepare_answer(i, first_row, divided, error));
        first_row += rows_of(i);
    }
    const std::uint64_t ended = now();
    // Released before it is answered: who gets the answer finds the request completed and its memory let go.
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        release(i, !answers[i].error, ended);
    }
    if (succeeded && !requests_.empty()) {
        ignore(api().TRITONBACKEND_ModelInstanceReportBatchStatistics(
            instance_, static_cast<std::uint64_t>(total_rows_), started_, compute_started_, compute_ended_, ended));
    }
    requests_.clear();
    outputs.clear();  // before the consumer comes, who may be here at once
    for (const Answer& answer : answers) {
        send_response(answer.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, answer.error);
    }
}

RequestBatch::Answer RequestBatch::prepare_answer(std::size_t index, std::int64_t first_row, const Outputs& outputs,
                                                  const Error* error) noexcept {
    Answer answer;
    try {
        check(api().TRITONBACKEND_ResponseNew(&answer.response, requests_[index]));
        if (error != nullptr) {
            leave_detail(requests_[index], *error);
            throw Error(*error);
        }
        write_outputs(answer.response, index, first_row, outputs);
    } catch (const Error& caught) {
        answer.error.emplace(caught);
    } catch (const std::exception& caught) {
        answer.error.emplace(TRITONSERVER_ERROR_INTERNAL, caught.what());
    }
    return answer;
}

void RequestBatch::write_outputs(TRITONBACKEND_Response* response, std::size_t index, std::int64_t first_row,
                                 const Outputs& outputs) const {
    const std::int64_t rows = rows_of(index);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string& name = function_->outputs()[i].name;
        if (!requested(requests_[index], name)) {
            continue;
        }
        const Tensor& output = outputs[i].tensor;
        const OutputRows* const slices = outputs.rows(i);
        std::vector<std::int64_t> shape = output.shape();
        if (slices != nullptr) {
            shape.front() = rows;
        }
        TRITONBACKEND_Output* target = nullptr;
        check(api().TRITONBACKEND_ResponseOutput(response, &target, name.c_str(), output.data_type(), shape.data(),
                                                 static_cast<std::uint32_t>(shape.size())));
        const char* data = static_cast<const char*>(output.buffer()->data());
        std::size_t byte_size = output.buffer()->byte_size();
        if (slices != nullptr) {
            data = slices->data(static_cast<std::size_t>(first_row));
            byte_size = slices->byte_size(static_cast<std::size_t>(first_row), static_cast<std::size_t>(rows));
        }
        void* buffer = nullptr;
        MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
        std::int64_t memory_type_id = 0;
        const OutputOffer offer(outputs[i].offer(data, byte_size));
        check(api().TRITONBACKEND_OutputBuffer(target, &buffer, byte_size, &memory_type, &memory_type_id));
        if (!offer.taken()) {
            copy_from_host(data, buffer, {memory_type, memory_type_id}, byte_size);
        }
        ByteCounts& counts = function_->byte_counts();
        const bool adopted = offer.taken() && !outputs[i].copied;
        ByteCounts::add(adopted ? counts.outputs_adopted : counts.outputs_copied, byte_size);
    }
}

void RequestBatch::release(std::size_t index, bool succeeded, std::uint64_t ended) noexcept {
    ignore(api().TRITONBACKEND_ModelInstanceReportStatistics(instance_, requests_[index], succeeded, started_,
                                                             compute_started_, compute_ended_, ended));
    ignore(api().TRITONBACKEND_RequestRelease(requests_[index], TRITONSERVER_REQUEST_RELEASE_ALL));
}

void RequestBatch::send(std::vector<FunctionOutput> outputs) {
    const DeferredRelease::ConsumerComes scope;
    const Outputs divided(outputs, requests_.size(), total_rows_);
    std::int64_t first_row = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        Answer answer = prepare_answer(i, first_row, divided, nullptr);
        first_row += rows_of(i);
        if (answer.error) {
            ignore(api().TRITONBACKEND_ResponseDelete(answer.response));
            throw Error(*answer.error);
        }
        if (i + 1 == requests_.size()) {
            outputs.clear();  // as above
        }
        send_response(answer.response, 0, answer.error);
    }
}

void RequestBatch::end() noexcept {
    const DeferredRelease::ConsumerComes scope;
    const std::uint64_t ended = now();
    std::vector<TRITONBACKEND_ResponseFactory*> factories;
    factories.reserve(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        TRITONBACKEND_ResponseFactory* factory = nullptr;
        ignore(api().TRITONBACKEND_ResponseFactoryNew(&factory, requests_[i]));
        factories.push_back(factory);
        release(i, true, ended);
    }
    if (!requests_.empty()) {
        ignore(api().TRITONBACKEND_ModelInstanceReportBatchStatistics(
            instance_, static_cast<std::uint64_t>(total_rows_), started_, compute_started_, compute_ended_, ended));
    }
    requests_.clear();
    for (TRITONBACKEND_ResponseFactory* const factory : factories) {
        if (factory != nullptr) {
            ignore(api().TRITONBACKEND_ResponseFactorySendFlags(factory, TRITONSERVER_RESPONSE_COMPLETE_FINAL));
            ignore(api().TRITONBACKEND_ResponseFactoryDelete(factory));
        }
    }
}

void RequestBatch::discard() noexcept {
    for (TRITONBACKEND_Request* const request : requests_) {
        ignore(api().TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
    }
    requests_.clear();
}

void RequestBatch::report_taken(std::int64_t rows) noexcept {
    ignore(api().TRITONBACKEND_ModelInstanceReportBatchStatistics(instance_, static_cast<std::uint64_t>(rows), started_,
                                                                  compute_started_, compute_ended_, now()));
}

std::vector<std::unique_ptr<RequestBatch>> RequestBatch::split() {
    std::vector<std::unique_ptr<RequestBatch>> parts;
    parts.reserve(requests_.size());
    while (!requests_.empty()) {
        parts.push_back(std::make_unique<RequestBatch>(*function_, instance_,
                                                       std::vector<TRITONBACKEND_Request*>{requests_.front()}));
        parts.back()->started_ = started_;
        requests_.erase(requests_.begin());
    }
    return parts;
}

}  // namespace triton_inprocess
