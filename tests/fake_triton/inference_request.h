// A request as its author fills it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "abi/types.h"
#include "live.h"
#include "model.h"
#include "parameter_value.h"

namespace fake_triton {

/// A piece of the caller's memory.
struct InputData {
    const void* base;
    std::size_t byte_size;
    TRITONSERVER_MemoryType memory_type;
    std::int64_t memory_type_id;
};

struct Input {
    std::string name;
    TRITONSERVER_DataType data_type;
    std::vector<std::int64_t> shape;
    std::vector<InputData> data;

    std::size_t byte_size() const;
    /// What its data type and shape need; -1 where that cannot be told, as for BYTES.
    std::int64_t expected_byte_size() const;
};

}  // namespace fake_triton

struct TRITONSERVER_InferenceRequest : fake_triton::Live<TRITONSERVER_InferenceRequest> {
    static constexpr const char* type_name = "InferenceRequest";

    TRITONSERVER_InferenceRequest(TRITONSERVER_Server& its_server, fake_triton::Model& its_model);
    ~TRITONSERVER_InferenceRequest();

    fake_triton::Input* find(const std::string& input_name);

    /// The error that a submission of this request ends with before anything is done, or null.
    TRITONSERVER_Error* check() const;

    TRITONSERVER_Server& server;
    fake_triton::Model& model;
    std::string id;
    std::uint32_t flags = 0;
    std::uint64_t correlation_id = 0;
    std::string correlation_text;
    std::uint64_t priority = 0;
    std::uint64_t timeout_microseconds = 0;
    std::vector<fake_triton::Input> inputs;
    std::vector<std::string> requested_outputs;
    std::map<std::string, fake_triton::ParameterValue> parameters;

    TRITONSERVER_InferenceRequestReleaseFn_t release = nullptr;
    void* release_user = nullptr;
    TRITONSERVER_ResponseAllocator* allocator = nullptr;
    void* allocator_user = nullptr;
    TRITONSERVER_InferenceResponseCompleteFn_t respond = nullptr;
    void* respond_user = nullptr;

    std::atomic<bool> in_flight{false};
    std::atomic<bool> cancelled{false};
};

namespace fake_triton {

/// "OUTPUT0" for "INPUT0".
std::string output_name(std::string input_name);

/// The request, for changing or deleting it; ends the process while the library has it.
TRITONSERVER_InferenceRequest& own(TRITONSERVER_InferenceRequest* request);

}  // namespace fake_triton
