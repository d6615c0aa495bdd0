// Responses for a coroutine.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/pending_request.h"
#include "bindings/reader_task.h"
#include "core/one_response.h"

namespace triton_inprocess {

class ResponseWait;

/// Whoever waits holds the iterator, not the other way round: a task that is cancelled takes its request with it.
class AsyncResponseIterator {
  public:
    explicit AsyncResponseIterator(PendingRequest request) : request_(std::move(request)) {}

    /// What a coroutine awaits for the next response. `self` is this object's Python object.
    nanobind::object next(nanobind::handle self);

    /// What `await` of the iterator itself waits for: the response of a model that sends one. Throws UNSUPPORTED after
    /// the iteration has begun.
    nanobind::object result(nanobind::handle self);

    /// That response if it has come; else invalid, and it can be asked for again.
    nanobind::object poll();

    void cancel() { request_.cancel(); }
    const PendingRequest& request() const noexcept { return request_; }
    const Ref<ResponseQueue>& queue() const noexcept { return request_.queue(); }

    /// Abandons the request; whoever waits is told that it is closed.
    void close();

    // For whoever waits.
    /// Throws UNAVAILABLE when somebody waits already.
    void require_no_wait() const;
    void begin_wait(ResponseWait& wait);
    void end_wait(const ResponseWait& wait) noexcept;

    /// The response, or null when it has not come. Throws StopAsyncIteration for a wait that begins after the end,
    /// CANCELLED when the iteration was ended meanwhile, and TimeoutError at the deadline.
    std::unique_ptr<InferenceResponse> take(bool waited);
    nanobind::object deliver(std::unique_ptr<InferenceResponse> response) {
        return request_.deliver(std::move(response));
    }

    /// Whoever waited does not any more. What was to be the one response is nobody's then; of several, the next one to
    /// ask gets it.
    void forget() noexcept;

    std::array<PyObject*, 1> held() const noexcept { return {request_.model()}; }
    void let_go() noexcept { request_.drop_model(); }

  private:
    PendingRequest request_;
    ResponseWait* waiting_ = nullptr;
    std::optional<OneResponse> one_;  ///< If the one response is waited for.
    ReaderTask reader_task_;
    bool begun_ = false;
};

void register_async_response_iterator(nanobind::module_& module);

}  // namespace triton_inprocess
