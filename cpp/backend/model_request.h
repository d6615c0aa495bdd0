// A request in the hands of a Triton Python model: it may be answered several times, and after it was released.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "abi/types.h"
#include "backend/python_function.h"
#include "backend/request_information.h"
#include "runtime/error.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

/// Owns the request until it is released, and what responses are made with until the last of them. Any thread may
/// answer; nothing here needs the GIL, and nothing here should be called with it.
class ModelRequest {
  public:
    struct NamedTensor {
        std::string name;
        Tensor tensor;
    };
    using Parameters = decltype(RequestInformation::parameters);

    ModelRequest(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request);
    ~ModelRequest();
    ModelRequest(const ModelRequest&) = delete;
    ModelRequest& operator=(const ModelRequest&) = delete;

    /// What the request says, of which nothing can be asked once it is released. Throws what reading an input throws.
    void read();

    const RequestInformation& information() const noexcept { return *information_; }
    const std::vector<NamedTensor>& inputs() const noexcept { return inputs_; }
    const std::vector<std::string>& requested_outputs() const noexcept { return requested_outputs_; }

    /// Empty where there is no trace, or the library has no contexts of them.
    const std::string& trace_context() const noexcept { return trace_context_; }

    /// How much of the batch it is; 1 without a batch dimension.
    std::int64_t rows() const noexcept { return rows_; }

    /// Whether Triton was asked to cancel it; false after the last response.
    bool cancelled() const noexcept;

    /// Whether there can be more responses.
    bool open() const noexcept;

    /// Sends a response; `final`: the last one. `release`: the request goes first, so that who gets the answer finds it
    /// completed. Throws INVALID_ARG after the last one; of outputs that nobody has asked for none is sent.
    void send(const std::vector<NamedTensor>& outputs, const Parameters& parameters, const Error* error, bool final,
              bool release);

    /// No more responses. Throws as `send` does.
    void close();

    /// Gives the request back to Triton; responses may follow. Nothing happens the second time.
    void release(bool succeeded) noexcept;

    /// Gives it back to be executed again, unanswered. Throws what Triton says, and the request stays.
    void reschedule();

  private:
    void read_input_at(std::uint32_t index);
    void read_outputs();
    void read_trace();
    bool is_requested(const std::string& output) const noexcept;
    void require_open() const;
    void end_responses() noexcept;
    void release_locked(bool succeeded) noexcept;

    Ref<PythonFunction> function_;
    TRITONBACKEND_ModelInstance* instance_;
    TRITONBACKEND_Request* request_;                    ///< Null once it is released.
    TRITONBACKEND_ResponseFactory* factory_ = nullptr;  ///< Null after the last response.
    mutable std::mutex mutex_;
    std::unique_ptr<RequestInformation> information_;  ///< Null until it was read.
    std::vector<NamedTensor> inputs_;
    std::vector<std::string> requested_outputs_;
    std::string trace_context_;
    std::int64_t rows_ = 1;
    std::uint64_t started_;
    std::uint64_t compute_started_;
};

}  // namespace triton_inprocess
