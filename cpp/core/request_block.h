// What Triton works on while a request is in flight: the C request and the memory it reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/response_queue.h"
#include "core/server_state.h"
#include "tensor/buffer.h"

namespace triton_inprocess {

class RequestBlock final : public RefCounted {
  public:
    RequestBlock(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version);
    ~RequestBlock() override;

    TRITONSERVER_InferenceRequest* get() const noexcept { return request_; }

    /// Throws UNAVAILABLE while Triton has the request.
    void require_idle() const;

    /// From submission until both the final response and the release have come (in either order).
    bool in_flight() const noexcept { return outstanding_.load() != 0; }

    /// Memory that the request reads and that stays alive with it.
    void keep(const std::string& input_name, Ref<Buffer> buffer);
    void drop(const std::string& input_name) noexcept;
    void drop_all() noexcept { inputs_.clear(); }

    /// The input buffer that holds `address`, or null.
    Ref<Buffer> owner_of(const void* address) const noexcept;

    /// Hands the request to Triton; its responses go to `queue`. When that fails, the request is as before.
    void submit(Ref<ResponseQueue> queue);

    /// Asks Triton to cancel; does nothing when the request is not in flight. Throws UNSUPPORTED before C API 1.25.
    void cancel();

    /// The request in flight behind a C request; null for one of foreign origin (an ensemble's step, a warm-up).
    static Ref<RequestBlock> find(const TRITONSERVER_InferenceRequest* request) noexcept;

  private:
    struct Input {
        std::string name;
        Ref<Buffer> buffer;
    };

    static void on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) noexcept;
    static void on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept;
    void finish_one() noexcept;

    ServerUse server_;
    TRITONSERVER_InferenceRequest* request_ = nullptr;
    std::vector<Input> inputs_;
    Ref<ResponseQueue> queue_;
    std::atomic<int> outstanding_{0};
};

}  // namespace triton_inprocess
