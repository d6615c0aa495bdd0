#include "backend/batch.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/function_call.h"
#include "backend/input_gatherer.h"
#include "bindings/gil.h"
#include "runtime/error.h"
#include "runtime/function_table.h"
#include "tensor/bytes_codec.h"
#include "tensor/deferred_release.h"

namespace triton_inprocess {
namespace {

std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

bool is_cancelled(TRITONBACKEND_Request* request) noexcept {
    bool cancelled = false;
    ignore(api().TRITONBACKEND_RequestIsCancelled(request, &cancelled));  // a library without it cannot cancel, either
    return cancelled;
}

class Batch {
  public:
    Batch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, std::vector<TRITONBACKEND_Request*> requests)
        : function_(function), instance_(instance), requests_(std::move(requests)) {}

    void run() noexcept {
        started_ = compute_started_ = compute_ended_ = now();
        try {
            read_inputs();
            compute();
        } catch (const Error& error) {
            fail(error);
        } catch (const std::exception& error) {
            fail(Error(TRITONSERVER_ERROR_INTERNAL, error.what()));
        }
        finish();
    }

    void cancel() noexcept {
        started_ = compute_started_ = compute_ended_ = now();
        fail(Error(TRITONSERVER_ERROR_CANCELLED, "the request was cancelled before it was executed"));
        finish();
    }

    /// Whether the requests can be joined along their first dimension.
    static bool joinable(const std::vector<RequestInput>& inputs) noexcept {
        const auto& first = inputs.front().shape;
        return std::all_of(inputs.begin(), inputs.end(), [&](const RequestInput& input) {
            return input.shape.size() == first.size() && !first.empty() &&
                   std::equal(first.begin() + 1, first.end(), input.shape.begin() + 1);
        });
    }

  private:
    void read_inputs() {
        rows_.assign(requests_.size(), 1);
        for (const TensorSpec& spec : function_.inputs()) {
            std::vector<RequestInput> inputs;
            inputs.reserve(requests_.size());
            for (std::size_t i = 0; i < requests_.size(); ++i) {
                inputs.push_back(read_input(requests_[i], spec));
                if (function_.batched()) {
                    rows_[i] = inputs.back().shape.empty() ? 0 : inputs.back().shape.front();
                }
            }
            if (inputs.size() > 1 && !joinable(inputs)) {
                throw Error(TRITONSERVER_ERROR_INTERNAL,
                            "requests of different shapes of input '" + spec.name + "' came in one batch");
            }
            inputs_.push_back(gather_input(spec, requests_.data(), inputs));
        }
        for (const std::int64_t rows : rows_) {
            total_rows_ += rows;
        }
    }

    void compute() {
        compute_started_ = now();
        {
            const NativeThreadGil gil;
            drop_deferred();
            // Gone before the GIL is, also when the function fails: what they hold may be Python's.
            const std::vector<Tensor> inputs = std::move(inputs_);
            outputs_ = call_function(function_, inputs, total_rows_);
        }
        compute_ended_ = now();
        succeeded_ = true;
    }

    void fail(const Error& error) noexcept { error_.emplace(error); }

    void finish() noexcept {
        const DeferredRelease::ConsumerComes scope;
        std::vector<Answer> answers;
        std::int64_t first_row = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            answers.push_back(prepare_answer(requests_[i], first_row, i < rows_.size() ? rows_[i] : 1));
            first_row += i < rows_.size() ? rows_[i] : 1;
        }
        outputs_.clear();
        const std::uint64_t ended = now();
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            ignore(api().TRITONBACKEND_ModelInstanceReportStatistics(
                instance_, requests_[i], !answers[i].error, started_, compute_started_, compute_ended_, ended));
            // Released before it is answered: who gets the answer finds the request completed and its memory let go.
            ignore(api().TRITONBACKEND_RequestRelease(requests_[i], TRITONSERVER_REQUEST_RELEASE_ALL));
        }
        if (succeeded_) {
            ignore(api().TRITONBACKEND_ModelInstanceReportBatchStatistics(
                instance_, static_cast<std::uint64_t>(total_rows_), started_, compute_started_, compute_ended_, ended));
        }
        for (Answer& answer : answers) {
            send(answer);
        }
    }

    struct Answer {
        TRITONBACKEND_Response* response = nullptr;
        std::optional<Error> error;
    };

    Answer prepare_answer(TRITONBACKEND_Request* request, std::int64_t first_row, std::int64_t rows) noexcept {
        Answer answer;
        try {
            check(api().TRITONBACKEND_ResponseNew(&answer.response, request));
            if (error_) {
                throw Error(*error_);
            }
            for (std::size_t i = 0; i < outputs_.size(); ++i) {
                if (requested(request, function_.outputs()[i].name)) {
                    write_output(answer.response, function_.outputs()[i].name, outputs_[i], first_row, rows);
                }
            }
        } catch (const Error& error) {
            answer.error.emplace(error);
        } catch (const std::exception& error) {
            answer.error.emplace(TRITONSERVER_ERROR_INTERNAL, error.what());
        }
        return answer;
    }

    static bool requested(TRITONBACKEND_Request* request, const std::string& output) {
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

    struct Slice {
        const char* data;
        std::size_t byte_size;
    };

    /// The part of an output that belongs to some rows of the batch.
    Slice slice_of(const Tensor& output, std::int64_t first_row, std::int64_t rows) const {
        const auto* data = static_cast<const char*>(output.buffer()->data());
        const std::size_t byte_size = output.buffer()->byte_size();
        if (!function_.batched() || rows == total_rows_) {
            return {data, byte_size};
        }
        const auto first = static_cast<std::size_t>(first_row);
        const auto count = static_cast<std::size_t>(rows);
        const auto total = static_cast<std::size_t>(total_rows_);
        if (output.data_type() != TRITONSERVER_TYPE_BYTES) {
            const std::size_t row_size = byte_size / total;
            return {data + first * row_size, count * row_size};
        }
        const std::size_t elements = output.element_count();
        const std::size_t row_elements = elements / total;
        const std::vector<std::string_view> views = decode_bytes(data, byte_size, elements);
        const auto offset = [&](std::size_t element) {
            // An element begins where its length does.
            return element == elements ? byte_size
                                       : static_cast<std::size_t>(views[element].data() - data) - sizeof(std::uint32_t);
        };
        const std::size_t begin = offset(first * row_elements);
        return {data + begin, offset((first + count) * row_elements) - begin};
    }

    void write_output(TRITONBACKEND_Response* response, const std::string& name, const Tensor& output,
                      std::int64_t first_row, std::int64_t rows) const {
        std::vector<std::int64_t> shape = output.shape();
        if (function_.batched()) {
            shape.front() = rows;
        }
        TRITONBACKEND_Output* target = nullptr;
        check(api().TRITONBACKEND_ResponseOutput(response, &target, name.c_str(), output.data_type(), shape.data(),
                                                 static_cast<std::uint32_t>(shape.size())));
        const Slice slice = slice_of(output, first_row, rows);
        void* buffer = nullptr;
        MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
        std::int64_t memory_type_id = 0;
        check(api().TRITONBACKEND_OutputBuffer(target, &buffer, slice.byte_size, &memory_type, &memory_type_id));
        if (memory_type == TRITONSERVER_MEMORY_GPU) {
            throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "output '" + name + "' was to be written to GPU memory");
        }
        if (slice.byte_size != 0) {
            std::memcpy(buffer, slice.data, slice.byte_size);
        }
    }

    static void send(Answer& answer) noexcept {
        if (answer.response == nullptr) {
            return;  // Triton could not make one: it has nothing to send either
        }
        TRITONSERVER_Error* const error = answer.error ? answer.error->to_c() : nullptr;
        ignore(api().TRITONBACKEND_ResponseSend(answer.response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error));
        ignore(error);
    }

    PythonFunction& function_;
    TRITONBACKEND_ModelInstance* instance_;
    std::vector<TRITONBACKEND_Request*> requests_;
    std::vector<std::int64_t> rows_;
    std::int64_t total_rows_ = 0;
    std::vector<Tensor> inputs_;
    std::vector<Tensor> outputs_;
    std::optional<Error> error_;
    bool succeeded_ = false;
    std::uint64_t started_ = 0;
    std::uint64_t compute_started_ = 0;
    std::uint64_t compute_ended_ = 0;
};

}  // namespace

void execute_batch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests,
                   std::uint32_t count) noexcept {
    std::vector<TRITONBACKEND_Request*> live;
    live.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (is_cancelled(requests[i])) {
            Batch(function, instance, {requests[i]}).cancel();
        } else if (function.batched()) {
            live.push_back(requests[i]);
        } else {
            // Without a batch dimension there is nothing to join.
            Batch(function, instance, {requests[i]}).run();
        }
    }
    if (!live.empty()) {
        Batch(function, instance, std::move(live)).run();
    }
}

}  // namespace triton_inprocess
