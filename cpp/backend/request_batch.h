// Requests that go through a Python function together, from their inputs to their answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/types.h"
#include "backend/function_output.h"
#include "backend/python_function.h"
#include "backend/shared_input.h"
#include "runtime/error.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// Owns the requests until they are answered and released, which happens at the latest when it goes. Nothing here needs
/// the GIL, and nothing here should be called with it: whoever hears of an answer may want it.
class RequestBatch {
  public:
    RequestBatch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                 std::vector<TRITONBACKEND_Request*> requests);
    ~RequestBatch();
    RequestBatch(const RequestBatch&) = delete;
    RequestBatch& operator=(const RequestBatch&) = delete;

    PythonFunction& function() const noexcept { return *function_; }

    /// The inputs in the order of their declaration, those of several requests joined along the first dimension.
    std::vector<Tensor> read_inputs();

    /// How many rows each request has, once the inputs were read; 1 without a batch dimension.
    const std::vector<std::int64_t>& rows() const noexcept { return rows_; }
    std::int64_t total_rows() const noexcept { return total_rows_; }

    /// Whether somebody has inputs still that are the caller's memory. For when the outputs are there, and
    /// nobody but the function can have them.
    bool inputs_kept() const noexcept { return watch_ && !watch_->unique(); }

    const std::vector<TRITONBACKEND_Request*>& requests() const noexcept { return requests_; }
    bool answered() const noexcept { return requests_.empty(); }

    /// Whether Triton was asked to cancel every one of the requests.
    bool cancelled() const noexcept;

    /// For Triton's statistics.
    void computation_begins() noexcept;
    void computation_ends() noexcept;

    /// Answers every request with its rows of the outputs, and releases it.
    void answer(std::vector<FunctionOutput> outputs) noexcept;

    /// Answers every request with the error, and releases it.
    void fail(const Error& error) noexcept;

    /// One of several responses to each request: for models that are decoupled.
    void send(std::vector<FunctionOutput> outputs);

    /// Ends what `send` began.
    void end() noexcept;

    /// Releases requests that nobody waits for, such as those with which Triton fills the places of a batch.
    void discard() noexcept;

    /// The requests, which are the caller's from now on; this one has none any more.
    std::vector<TRITONBACKEND_Request*> take() noexcept { return std::exchange(requests_, {}); }

    /// For Triton's statistics: requests that were taken were executed together, so many rows of them.
    void report_taken(std::int64_t rows) noexcept;

    TRITONBACKEND_ModelInstance* instance() const noexcept { return instance_; }

    /// Each request alone; this one has none any more.
    std::vector<std::unique_ptr<RequestBatch>> split();

  private:
    struct Answer;
    class Outputs;

    void finish(std::vector<FunctionOutput> outputs, const Error* error, bool succeeded) noexcept;
    Answer prepare_answer(std::size_t index, std::int64_t first_row, const Outputs& outputs,
                          const Error* error) noexcept;
    void write_outputs(TRITONBACKEND_Response* response, std::size_t index, std::int64_t first_row,
                       const Outputs& outputs) const;
    void release(std::size_t index, bool succeeded, std::uint64_t ended) noexcept;
    std::int64_t rows_of(std::size_t index) const noexcept { return index < rows_.size() ? rows_[index] : 1; }

    Ref<PythonFunction> function_;
    TRITONBACKEND_ModelInstance* instance_;
    std::vector<TRITONBACKEND_Request*> requests_;
    Ref<InputWatch> watch_;
    std::vector<std::int64_t> rows_;
    std::int64_t total_rows_ = 0;
    std::uint64_t started_;
    std::uint64_t compute_started_;
    std::uint64_t compute_ended_;
};

/// Whether Triton was asked to cancel the request; a library without it cannot cancel, either.
bool is_cancelled(TRITONBACKEND_Request* request) noexcept;

}  // namespace triton_inprocess
