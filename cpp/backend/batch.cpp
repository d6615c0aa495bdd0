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
#include "tensor/transfer.h"

namespace triton_inprocess {
namespace {

thread_local const PythonFunction* executing = nullptr;

std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Marks the thread while the function runs on it.
class Executing {
  public:
    explicit Executing(const PythonFunction& function) noexcept { executing = &function; }
    ~Executing() { executing = nullptr; }
    Executing(const Executing&) = delete;
    Executing& operator=(const Executing&) = delete;
};

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
            const Executing scope(function_);
            drop_deferred();
            // Gone before the GIL is, also when the function fails: what they hold may be Python's.
            const std::vector<Tensor> inputs = std::move(inputs_);
            outputs_ = call_function(function_, inputs, total_rows_);
        }
        compute_ended_ = now();
        for (const Tensor& output : outputs_) {
            output_rows_.emplace_back(output, function_.batched() ? total_rows_ : 1);
        }
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
                    write_output(answer.response, i, first_row, rows);
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

    /// Where the rows of an output begin, and where the last one ends.
    class Rows {
      public:
        Rows(const Tensor& output, std::int64_t rows) : rows_(static_cast<std::size_t>(rows)) {
            const Buffer& buffer = *output.buffer();
            data_ = static_cast<const char*>(buffer.data());
            row_size_ = rows_ == 0 ? 0 : buffer.byte_size() / rows_;
            if (output.data_type() == TRITONSERVER_TYPE_BYTES && rows_ > 1) {
                find_offsets(decode_bytes(data_, buffer.byte_size(), output.element_count()), buffer.byte_size());
            }
        }

        const char* data(std::size_t row) const noexcept { return data_ + offset(row); }
        std::size_t byte_size(std::size_t first, std::size_t count) const noexcept {
            return offset(first + count) - offset(first);
        }

      private:
        void find_offsets(const std::vector<std::string_view>& elements, std::size_t byte_size) {
            const std::size_t row_elements = elements.size() / rows_;
            for (std::size_t row = 0; row < rows_; ++row) {
                // An element begins where its length does.
                offsets_.push_back(row_elements == 0
                                       ? 0
                                       : static_cast<std::size_t>(elements[row * row_elements].data() - data_) -
                                             sizeof(std::uint32_t));
            }
            offsets_.push_back(byte_size);
        }

        std::size_t offset(std::size_t row) const noexcept {
            return offsets_.empty() ? row * row_size_ : offsets_[row];
        }

        std::size_t rows_;
        const char* data_ = nullptr;
        std::size_t row_size_ = 0;
        std::vector<std::size_t> offsets_;  ///< Of BYTES, whose rows differ in length.
    };

    void write_output(TRITONBACKEND_Response* response, std::size_t index, std::int64_t first_row,
                      std::int64_t rows) const {
        const std::string& name = function_.outputs()[index].name;
        const Tensor& output = outputs_[index];
        std::vector<std::int64_t> shape = output.shape();
        if (function_.batched()) {
            shape.front() = rows;
        }
        TRITONBACKEND_Output* target = nullptr;
        check(api().TRITONBACKEND_ResponseOutput(response, &target, name.c_str(), output.data_type(), shape.data(),
                                                 static_cast<std::uint32_t>(shape.size())));
        const auto first = static_cast<std::size_t>(first_row);
        const std::size_t byte_size = output_rows_[index].byte_size(first, static_cast<std::size_t>(rows));
        void* buffer = nullptr;
        MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
        std::int64_t memory_type_id = 0;
        check(api().TRITONBACKEND_OutputBuffer(target, &buffer, byte_size, &memory_type, &memory_type_id));
        copy_from_host(output_rows_[index].data(first), buffer, {memory_type, memory_type_id}, byte_size);
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
    std::vector<Rows> output_rows_;
    std::optional<Error> error_;
    bool succeeded_ = false;
    std::uint64_t started_ = 0;
    std::uint64_t compute_started_ = 0;
    std::uint64_t compute_ended_ = 0;
};

}  // namespace

const PythonFunction* executing_function() noexcept {
    return executing;
}

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
