// What Triton works on while a request is in flight: the C request and the memory it reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/inference_trace.h"
#include "core/output_placement.h"
#include "core/request_observer.h"
#include "core/request_outputs.h"
#include "core/response_queue.h"
#include "core/server_state.h"
#include "tensor/buffer.h"

namespace triton_inprocess {

class RequestBlock final : public RefCounted {
  public:
    /// A request that is sent once lets go of Triton as soon as it is completed; one that is `reusable` stays until
    /// its server stops: a C request that lives keeps its model, and the stop would wait for it.
    enum class Use { once, reusable };

    RequestBlock(Ref<ServerState> server, const std::string& model_name, std::int64_t model_version, Use use);
    ~RequestBlock() override;

    /// The C request, locked: no other thread can submit or delete it meanwhile.
    class Locked {
      public:
        TRITONSERVER_InferenceRequest* get() const noexcept { return request_; }

      private:
        friend class RequestBlock;
        Locked(std::unique_lock<std::mutex> lock, TRITONSERVER_InferenceRequest* request)
            : lock_(std::move(lock)), request_(request) {}

        std::unique_lock<std::mutex> lock_;
        TRITONSERVER_InferenceRequest* request_;
    };

    /// Throws UNAVAILABLE while Triton has the request, and after the server has stopped.
    Locked idle();

    /// The C request, for reading: in flight or not. Throws UNAVAILABLE after the server has stopped.
    Locked readable();

    /// From submission until both the final response and the release have come (in either order).
    bool in_flight() const noexcept { return outstanding_.load() != 0; }

    /// Memory that the request reads and that stays alive with it.
    void keep(Ref<Buffer> buffer) { inputs_.push_back(std::move(buffer)); }

    /// Whoever will fetch the responses claims the request, and no longer than that.
    void claim() noexcept { claims_.fetch_add(1); }
    /// True if nobody claims it any more.
    bool unclaim() noexcept { return claims_.fetch_sub(1) == 1; }

    /// Has the labels of outputs read from the responses. Not while the request is in flight.
    void read_labels(Ref<ClassLabels> labels) noexcept { labels_ = std::move(labels); }

    /// The input buffer that holds `address`, or null. Only while the request is in flight.
    Ref<Buffer> owner_of(const void* address) const noexcept;

    /// What the error that will be the answer has beside its message. For the thread that answers, before it does.
    void set_error_detail(std::string detail) noexcept { error_detail_ = std::move(detail); }

    const ServerState& server() const noexcept { return *server_; }
    const std::string& model_name() const noexcept { return model_name_; }

    /// How a request is sent whose author wants to be told of everything himself.
    struct Submission {
        Ref<RequestObserver> observer;
        OutputPlacement* placement = nullptr;  ///< Lives as long as the observer; null: pooled host memory.
        TRITONSERVER_ResponseAllocator* allocator = nullptr;  ///< Which asks the placement; likewise.
        Ref<InferenceTrace> trace;                            ///< May be null.
    };

    /// Hands the request to Triton; its responses go to `queue`. When that fails, the request is as before. A request
    /// that is answered, but not released yet, is waited for.
    /// With `outputs`, those go where it says; the trace may be null.
    void submit(Ref<ResponseQueue> queue, Ref<RequestOutputs> outputs = nullptr,
                const Ref<InferenceTrace>& trace = nullptr);
    void submit(Submission submission);

    /// Asks Triton to cancel; does nothing when the request is not in flight. Throws UNSUPPORTED before C API 1.25,
    /// in flight or not: whether a request is still in flight is a matter of luck.
    void cancel();
    bool is_cancelled();

    /// As `cancel`, where the library can, and without a word.
    void cancel_unwanted() noexcept;

    /// Waits for the release of a request that is answered, which is a matter of microseconds; at most a second, and
    /// not at all on the thread that is delivering the answer. Not with the GIL: telling of the answer may need it.
    void wait_for_release() const noexcept;

    /// Throws what `cancel` throws before C API 1.25.
    static void require_cancel();

    /// Deletes the C request, unless it is in flight: then its completion does.
    void close() noexcept;

    /// The request in flight behind a C request; null for one of foreign origin (an ensemble's step, a warm-up).
    static Ref<RequestBlock> find(const TRITONSERVER_InferenceRequest* request) noexcept;

  private:
    static void on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* user) noexcept;
    static void on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* user) noexcept;
    Locked locked(std::unique_lock<std::mutex> lock);
    void send(TRITONSERVER_InferenceRequest* request, const Ref<InferenceTrace>& trace,
              TRITONSERVER_InferenceTrace* c_trace);
    void prepare_for_flight() noexcept;
    void watch_bound(const Ref<ResponseQueue>& queue);
    void forget_bound(const Ref<ResponseQueue>& queue) noexcept;
    TRITONSERVER_Error* cancel_if_asked();
    void finish_one() noexcept;

    const Ref<ServerState> server_;
    const std::string model_name_;
    const Use use_;
    std::mutex mutex_;
    std::optional<ServerUse> server_use_;  ///< For as long as there is a C request.
    TRITONSERVER_InferenceRequest* request_ = nullptr;
    std::vector<Ref<Buffer>> inputs_;
    Ref<ResponseQueue> queue_;       ///< Either this …
    Ref<RequestOutputs> outputs_;    ///< … with this or null …
    Ref<RequestObserver> observer_;  ///< … or this.
    Ref<ClassLabels> labels_;        ///< Null: they are not read.
    std::string error_detail_;
    std::atomic<int> outstanding_{0};
    std::atomic<bool> answered_{false};
    std::atomic<int> claims_{0};
    std::atomic<int> sending_{0};  ///< Submissions that have not returned; an earlier one may return late.
    std::atomic<bool> cancel_when_sent_{false};
};

}  // namespace triton_inprocess
