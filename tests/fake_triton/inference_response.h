// A response: outputs in memory that the user's allocator gave, or an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/types.h"
#include "inference_request.h"
#include "live.h"
#include "parameter_value.h"

namespace fake_triton {

struct Output {
    std::string name;
    TRITONSERVER_DataType data_type;
    std::vector<std::int64_t> shape;
    void* base;
    std::size_t byte_size;
    TRITONSERVER_MemoryType memory_type;
    std::int64_t memory_type_id;
    void* user;  ///< The allocator's.
};

struct ResponseError {
    TRITONSERVER_Error_Code code;
    std::string message;
};

}  // namespace fake_triton

struct TRITONSERVER_InferenceResponse : fake_triton::Live<TRITONSERVER_InferenceResponse> {
    static constexpr const char* type_name = "InferenceResponse";

    /// An empty response to `request`, which may go afterwards.
    explicit TRITONSERVER_InferenceResponse(const TRITONSERVER_InferenceRequest& request);
    /// Gives every output back to the allocator.
    ~TRITONSERVER_InferenceResponse();

    /// Copies an input into memory of the allocator. What the allocator cannot do becomes the response's error.
    void add_output(const fake_triton::Input& input);
    void fail(TRITONSERVER_Error_Code code, std::string message);

    TRITONSERVER_Server& server;
    TRITONSERVER_ResponseAllocator& allocator;
    const std::string model_name;
    const std::string id;
    const bool has_labels;
    std::vector<std::pair<std::string, fake_triton::ParameterValue>> parameters;
    std::vector<fake_triton::Output> outputs;
    std::optional<fake_triton::ResponseError> error;

  private:
    /// Asks for memory; empty for success, else what went wrong.
    std::string allocate(fake_triton::Output& output);

    void* const allocator_user_;
};
