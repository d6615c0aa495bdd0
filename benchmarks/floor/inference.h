// One inference after the other on the C API: a request is made and destroyed for each, as a binding must.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "abi/types.h"
#include "buffer_pool.h"
#include "completion_queue.h"
#include "response_allocator.h"
#include "server.h"

namespace triton_inprocess::benchmarks {

class Inference {
  public:
    static constexpr std::size_t element_count = 16;
    static constexpr std::size_t most_in_flight = 1024;
    static constexpr std::size_t submitted_at_once = 256;

    /// `server` must outlive this object.
    explicit Inference(const Server& server);
    Inference(const Inference&) = delete;
    Inference& operator=(const Inference&) = delete;

    /// Seconds that `inferences` take while `in_flight` of them are kept in flight.
    double run(std::size_t inferences, std::size_t in_flight);

    /// Seconds that the submissions alone of `inferences` take; their responses are waited for in between, untimed.
    double submit_alone(std::size_t inferences);

    /// Seconds of each of `inferences`, which are done one after the other.
    std::vector<double> latencies(std::size_t inferences);

  private:
    static void on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t flags, void* userp);
    static void on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t flags, void* userp);

    void submit();
    void read_and_delete(TRITONSERVER_InferenceResponse* response) const;

    // Waits for `count` responses that are under way, looks at each and deletes it.
    void receive(std::size_t count);

    // Waits for what is under way after an error: it uses this object.
    void abandon(std::size_t in_flight);

    const Server& server_;
    BufferPool pool_;
    ResponseAllocator allocator_;
    CompletionQueue queue_;
    std::array<float, element_count> input_;
    std::vector<TRITONSERVER_InferenceResponse*> ready_;
};

}  // namespace triton_inprocess::benchmarks
