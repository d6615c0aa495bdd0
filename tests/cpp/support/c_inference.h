// A request at the level of the C API, with every callback recorded: for testing the fake itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "abi/types.h"

namespace triton_inprocess::testing {

/// A started server without our own classes around it.
class CServer {
  public:
    explicit CServer(unsigned exit_timeout = 5);
    ~CServer();
    CServer(const CServer&) = delete;
    CServer& operator=(const CServer&) = delete;

    TRITONSERVER_Server* get() const noexcept { return server_; }
    /// Leaves the server to the test.
    TRITONSERVER_Server* detach() noexcept;

  private:
    TRITONSERVER_Server* server_ = nullptr;
};

/// A request for a model with one input of four floats. It must outlive its callbacks.
class CInference {
  public:
    CInference(TRITONSERVER_Server* server, const std::string& model, const std::string& input = "INPUT0");
    /// Deletes the request, the responses and the allocator, as far as they are there.
    ~CInference();
    CInference(const CInference&) = delete;
    CInference& operator=(const CInference&) = delete;

    void submit(TRITONSERVER_InferenceTrace* trace = nullptr);
    /// Waits for the final response and the release; false when they do not come in time.
    bool wait() const;
    void delete_responses();

    TRITONSERVER_Server* const server;
    TRITONSERVER_ResponseAllocator* allocator = nullptr;
    TRITONSERVER_InferenceRequest* request = nullptr;
    std::array<float, 4> data = {1, 2, 3, 4};

    std::vector<std::string> events() const;  ///< "response", "final", "release", "reschedule", "start", "query", …
    std::vector<TRITONSERVER_InferenceResponse*> responses() const;
    std::vector<std::thread::id> response_threads() const;

  private:
    static void on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user);
    static void on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user);
    static TRITONSERVER_Error* start(TRITONSERVER_ResponseAllocator* allocator, void* user);
    static TRITONSERVER_Error* query(TRITONSERVER_ResponseAllocator* allocator, void* user, const char* name,
                                     std::size_t* byte_size, TRITONSERVER_MemoryType* memory_type,
                                     std::int64_t* memory_type_id);
    static TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator* allocator, const char* name,
                                        std::size_t byte_size, TRITONSERVER_MemoryType memory_type,
                                        std::int64_t memory_type_id, void* user, void** buffer, void** buffer_user,
                                        TRITONSERVER_MemoryType* actual_memory_type,
                                        std::int64_t* actual_memory_type_id);
    static TRITONSERVER_Error* attributes(TRITONSERVER_ResponseAllocator* allocator, const char* name,
                                          TRITONSERVER_BufferAttributes* attributes, void* user, void* buffer_user);
    static TRITONSERVER_Error* release_buffer(TRITONSERVER_ResponseAllocator* allocator, void* buffer,
                                              void* buffer_user, std::size_t byte_size,
                                              TRITONSERVER_MemoryType memory_type, std::int64_t memory_type_id);

    void record(const std::string& event);

    mutable std::mutex mutex_;
    std::vector<std::string> events_;
    std::vector<TRITONSERVER_InferenceResponse*> responses_;
    std::vector<std::thread::id> response_threads_;
    std::atomic<int> outstanding_{0};
};

}  // namespace triton_inprocess::testing
