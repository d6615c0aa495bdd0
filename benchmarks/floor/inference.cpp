#include "inference.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct RequestDeleter {
    void operator()(TRITONSERVER_InferenceRequest* request) const noexcept {
        ignore(api().TRITONSERVER_InferenceRequestDelete(request));
    }
};

struct ResponseDeleter {
    void operator()(TRITONSERVER_InferenceResponse* response) const noexcept {
        ignore(api().TRITONSERVER_InferenceResponseDelete(response));
    }
};

using Request = std::unique_ptr<TRITONSERVER_InferenceRequest, RequestDeleter>;
using Response = std::unique_ptr<TRITONSERVER_InferenceResponse, ResponseDeleter>;

constexpr std::array<std::int64_t, 1> shape = {Inference::element_count};

}  // namespace

Inference::Inference(const Server& server)
    : server_(server), pool_(sizeof(input_), most_in_flight), allocator_(pool_), queue_(most_in_flight) {
    std::iota(input_.begin(), input_.end(), 1.0F);
    ready_.reserve(most_in_flight);
}

void Inference::on_release(TRITONSERVER_InferenceRequest* request, std::uint32_t, void*) {
    ignore(api().TRITONSERVER_InferenceRequestDelete(request));
}

void Inference::on_response(TRITONSERVER_InferenceResponse* response, std::uint32_t, void* userp) {
    if (response != nullptr) {
        static_cast<CompletionQueue*>(userp)->push(response);
    }
}

void Inference::submit() {
    TRITONSERVER_InferenceRequest* raw = nullptr;
    check(api().TRITONSERVER_InferenceRequestNew(&raw, server_.get(), server_.model_name().c_str(), -1));
    Request request(raw);
    check(
        api().TRITONSERVER_InferenceRequestAddInput(raw, "INPUT0", TRITONSERVER_TYPE_FP32, shape.data(), shape.size()));
    check(api().TRITONSERVER_InferenceRequestAppendInputData(raw, "INPUT0", input_.data(), sizeof(input_),
                                                             TRITONSERVER_MEMORY_CPU, 0));
    check(api().TRITONSERVER_InferenceRequestSetReleaseCallback(raw, &on_release, nullptr));
    check(api().TRITONSERVER_InferenceRequestSetResponseCallback(raw, allocator_.get(), allocator_.user_pointer(),
                                                                 &on_response, &queue_));
    check(api().TRITONSERVER_ServerInferAsync(server_.get(), raw, nullptr));
    request.release();  // it is the release callback's now, and may be gone already
}

void Inference::read_and_delete(TRITONSERVER_InferenceResponse* raw) const {
    const Response response(raw);
    check(api().TRITONSERVER_InferenceResponseError(raw));
    std::uint32_t count = 0;
    check(api().TRITONSERVER_InferenceResponseOutputCount(raw, &count));
    if (count != 1) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "expected 1 output, got " + std::to_string(count));
    }
    const char* name = nullptr;
    TRITONSERVER_DataType data_type = TRITONSERVER_TYPE_INVALID;
    const std::int64_t* output_shape = nullptr;
    std::uint64_t dimension_count = 0;
    const void* base = nullptr;
    std::size_t byte_size = 0;
    TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
    std::int64_t memory_type_id = 0;
    void* userp = nullptr;
    check(api().TRITONSERVER_InferenceResponseOutput(raw, 0, &name, &data_type, &output_shape, &dimension_count, &base,
                                                     &byte_size, &memory_type, &memory_type_id, &userp));
    if (byte_size != sizeof(input_) || std::memcmp(base, input_.data(), byte_size) != 0) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "output '" + std::string(name) + "' differs from the input");
    }
}

void Inference::abandon(std::size_t in_flight) {
    while (true) {
        for (TRITONSERVER_InferenceResponse* response : ready_) {
            ignore(api().TRITONSERVER_InferenceResponseDelete(response));
        }
        in_flight -= ready_.size();
        ready_.clear();
        if (in_flight == 0) {
            return;
        }
        queue_.drain(ready_);
    }
}

double Inference::run(std::size_t inferences, std::size_t in_flight) {
    std::size_t submitted = 0;
    std::size_t received = 0;
    const Clock::time_point start = Clock::now();
    try {
        while (submitted < std::min(in_flight, inferences)) {
            submit();
            ++submitted;
        }
        while (received < inferences) {
            queue_.drain(ready_);
            while (!ready_.empty()) {
                TRITONSERVER_InferenceResponse* response = ready_.back();
                ready_.pop_back();
                ++received;
                read_and_delete(response);
                if (submitted < inferences) {
                    submit();
                    ++submitted;
                }
            }
        }
    } catch (...) {
        abandon(submitted - received);
        throw;
    }
    return seconds_since(start);
}

void Inference::receive(std::size_t count) {
    try {
        while (count > 0) {
            queue_.drain(ready_);
            while (!ready_.empty()) {
                TRITONSERVER_InferenceResponse* response = ready_.back();
                ready_.pop_back();
                --count;
                read_and_delete(response);
            }
        }
    } catch (...) {
        abandon(count);
        throw;
    }
}

double Inference::submit_alone(std::size_t inferences) {
    double seconds = 0;
    while (inferences > 0) {
        const std::size_t batch = std::min(inferences, submitted_at_once);
        std::size_t submitted = 0;
        const Clock::time_point start = Clock::now();
        try {
            while (submitted < batch) {
                submit();
                ++submitted;
            }
        } catch (...) {
            abandon(submitted);
            throw;
        }
        seconds += seconds_since(start);
        receive(batch);
        inferences -= batch;
    }
    return seconds;
}

std::vector<double> Inference::latencies(std::size_t inferences) {
    std::vector<double> seconds;
    seconds.reserve(inferences);
    while (seconds.size() < inferences) {
        const Clock::time_point start = Clock::now();
        submit();
        receive(1);
        seconds.push_back(seconds_since(start));
    }
    return seconds;
}

}  // namespace triton_inprocess::benchmarks
