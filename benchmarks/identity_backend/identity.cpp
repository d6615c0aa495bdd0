// The `identity` backend of the tests and benchmarks: OUTPUT<suffix> is a copy of INPUT<suffix>, of any data type.
// `settings.h` lists the parameters by which a model's configuration makes it stream, wait or fail.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "c_api.h"
#include "failure.h"
#include "settings.h"

#define TRITON_ENTRY_POINT __attribute__((visibility("default")))

namespace identity {
namespace {

struct MessageDeleter {
    void operator()(TRITONSERVER_Message* message) const noexcept {
        log_and_delete(TRITONSERVER_MessageDelete(message));
    }
};

struct ResponseDeleter {
    void operator()(TRITONBACKEND_Response* response) const noexcept {
        log_and_delete(TRITONBACKEND_ResponseDelete(response));
    }
};

struct FactoryDeleter {
    void operator()(TRITONBACKEND_ResponseFactory* factory) const noexcept {
        log_and_delete(TRITONBACKEND_ResponseFactoryDelete(factory));
    }
};

using Message = std::unique_ptr<TRITONSERVER_Message, MessageDeleter>;
using Response = std::unique_ptr<TRITONBACKEND_Response, ResponseDeleter>;
using Factory = std::unique_ptr<TRITONBACKEND_ResponseFactory, FactoryDeleter>;

// Triton's own time stamps are of this clock.
std::uint64_t now() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

Settings read_settings(TRITONBACKEND_Model* model) {
    TRITONSERVER_Message* raw = nullptr;
    check(TRITONBACKEND_ModelConfig(model, 1, &raw));
    const Message message(raw);
    const char* text = nullptr;
    std::size_t size = 0;
    check(TRITONSERVER_MessageSerializeToJson(message.get(), &text, &size));
    return Settings::from_model_configuration({text, size});
}

const Settings& settings_of(TRITONBACKEND_ModelInstance* instance) {
    TRITONBACKEND_Model* model = nullptr;
    check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    void* state = nullptr;
    check(TRITONBACKEND_ModelState(model, &state));
    return *static_cast<const Settings*>(state);
}

std::string input_name_for(std::string_view output_name) {
    constexpr std::string_view prefix = "OUTPUT";
    if (output_name.substr(0, prefix.size()) != prefix) {
        throw Failure(TRITONSERVER_ERROR_INVALID_ARG,
                      "output '" + std::string(output_name) + "' has no input: expected a name OUTPUT<suffix>");
    }
    return "INPUT" + std::string(output_name.substr(prefix.size()));
}

void expect_host_memory(const std::string& tensor, TRITONSERVER_MemoryType memory_type) {
    if (memory_type == TRITONSERVER_MEMORY_GPU) {
        throw Failure(TRITONSERVER_ERROR_UNSUPPORTED,
                      "tensor '" + tensor + "' lies in GPU memory; expected CPU memory");
    }
}

// One input as Triton describes it; its bytes may lie in several buffers.
class Input {
  public:
    Input(TRITONBACKEND_Request* request, const std::string& name) : name_(name) {
        check(TRITONBACKEND_RequestInput(request, name.c_str(), &input_));
        read_properties();
    }

    Input(TRITONBACKEND_Request* request, std::uint32_t index) {
        check(TRITONBACKEND_RequestInputByIndex(request, index, &input_));
        read_properties();
    }

    std::uint64_t batch_size() const { return dimension_count_ > 0 ? static_cast<std::uint64_t>(shape_[0]) : 1; }

    void copy_to(TRITONBACKEND_Response* response, const char* output_name) const {
        TRITONBACKEND_Output* output = nullptr;
        check(TRITONBACKEND_ResponseOutput(response, &output, output_name, data_type_, shape_, dimension_count_));
        void* target = nullptr;
        TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
        std::int64_t memory_type_id = 0;
        check(TRITONBACKEND_OutputBuffer(output, &target, byte_size_, &memory_type, &memory_type_id));
        expect_host_memory(output_name, memory_type);
        gather(static_cast<char*>(target));
    }

  private:
    void read_properties() {
        check(TRITONBACKEND_InputProperties(input_, nullptr, &data_type_, &shape_, &dimension_count_, &byte_size_,
                                            &buffer_count_));
    }

    void gather(char* target) const {
        std::uint64_t copied = 0;
        for (std::uint32_t index = 0; index < buffer_count_; ++index) {
            const void* source = nullptr;
            std::uint64_t size = 0;
            TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
            std::int64_t memory_type_id = 0;
            check(TRITONBACKEND_InputBuffer(input_, index, &source, &size, &memory_type, &memory_type_id));
            expect_host_memory(name_, memory_type);
            if (size > byte_size_ - copied) {
                throw Failure(TRITONSERVER_ERROR_INTERNAL, "the buffers of input '" + name_ + "' hold more than its " +
                                                               std::to_string(byte_size_) + " bytes");
            }
            if (size > 0) {  // memcpy must not see the null pointer of an empty buffer
                std::memcpy(target + copied, source, size);
                copied += size;
            }
        }
        if (copied != byte_size_) {
            throw Failure(TRITONSERVER_ERROR_INTERNAL, "the buffers of input '" + name_ + "' hold " +
                                                           std::to_string(copied) + " bytes instead of " +
                                                           std::to_string(byte_size_));
        }
    }

    std::string name_;
    TRITONBACKEND_Input* input_ = nullptr;
    TRITONSERVER_DataType data_type_ = TRITONSERVER_TYPE_INVALID;
    const std::int64_t* shape_ = nullptr;
    std::uint32_t dimension_count_ = 0;
    std::uint64_t byte_size_ = 0;
    std::uint32_t buffer_count_ = 0;
};

// Without a batch dimension, or without an input, a request counts as one.
std::uint64_t batch_size_of(TRITONBACKEND_Request* request, const Settings& settings) {
    std::uint32_t input_count = 0;
    check(TRITONBACKEND_RequestInputCount(request, &input_count));
    return settings.batching && input_count > 0 ? Input(request, 0).batch_size() : 1;
}

// Triton lists every output of the model here when the caller asked for none in particular.
void copy_requested(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response) {
    std::uint32_t count = 0;
    check(TRITONBACKEND_RequestOutputCount(request, &count));
    for (std::uint32_t index = 0; index < count; ++index) {
        const char* output_name = nullptr;
        check(TRITONBACKEND_RequestOutputName(request, index, &output_name));
        Input(request, input_name_for(output_name)).copy_to(response, output_name);
    }
}

// Sends what is in `response`, or `error` in its stead; Triton owns the response afterwards whatever happens.
void send(Response response, std::uint32_t flags, TRITONSERVER_Error* error) {
    TRITONSERVER_Error* failure = TRITONBACKEND_ResponseSend(response.release(), flags, error);
    if (error != nullptr) {
        TRITONSERVER_ErrorDelete(error);
    }
    check(failure);
}

// Only looked at where there is time to cancel. A runtime that knows no cancellation cannot have cancelled anything.
bool is_cancelled(TRITONBACKEND_Request* request) {
    bool cancelled = false;
    TRITONSERVER_Error* error = TRITONBACKEND_RequestIsCancelled(request, &cancelled);
    if (error != nullptr) {
        TRITONSERVER_ErrorDelete(error);
        return false;
    }
    return cancelled;
}

void wait(TRITONBACKEND_Request* request, const Settings& settings) {
    if (settings.delay.count() == 0) {
        return;
    }
    std::this_thread::sleep_for(settings.delay);
    if (is_cancelled(request)) {
        throw Failure(TRITONSERVER_ERROR_CANCELLED, "the request was cancelled");
    }
}

void fill(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response, const Settings& settings,
          std::uint32_t index) {
    if (settings.fail_after == index) {
        throw Failure(TRITONSERVER_ERROR_INTERNAL,
                      "response " + std::to_string(index) + " fails, as parameter 'fail_after' asks");
    }
    copy_requested(request, response);
}

// Both return whether every response was good; they throw only when a response could not be sent at all.
bool answer_once(TRITONBACKEND_Request* request, const Settings& settings) {
    TRITONBACKEND_Response* raw = nullptr;
    check(TRITONBACKEND_ResponseNew(&raw, request));
    Response response(raw);
    TRITONSERVER_Error* error = guarded([&] {
        wait(request, settings);
        fill(request, response.get(), settings, 0);
    });
    const bool success = error == nullptr;
    send(std::move(response), TRITONSERVER_RESPONSE_COMPLETE_FINAL, error);
    return success;
}

// Each response carries its number as the parameter `index`.
bool answer_stream(TRITONBACKEND_Request* request, const Settings& settings) {
    TRITONBACKEND_ResponseFactory* raw_factory = nullptr;
    check(TRITONBACKEND_ResponseFactoryNew(&raw_factory, request));
    const Factory factory(raw_factory);
    bool success = true;
    bool cancelled = false;
    if (settings.responses == 0) {
        std::this_thread::sleep_for(settings.delay);
    }
    for (std::uint32_t index = 0; index < settings.responses && !cancelled; ++index) {
        TRITONBACKEND_Response* raw = nullptr;
        check(TRITONBACKEND_ResponseNewFromFactory(&raw, factory.get()));
        Response response(raw);
        TRITONSERVER_Error* error = guarded([&] {
            check(TRITONBACKEND_ResponseSetIntParameter(response.get(), "index", index));
            wait(request, settings);
            fill(request, response.get(), settings, index);
        });
        if (error != nullptr) {
            success = false;
            cancelled = TRITONSERVER_ErrorCode(error) == TRITONSERVER_ERROR_CANCELLED;
        }
        send(std::move(response), 0, error);
    }
    check(TRITONBACKEND_ResponseFactorySendFlags(factory.get(), TRITONSERVER_RESPONSE_COMPLETE_FINAL));
    return success;
}

// Whatever happens, the request is reported and released: Triton would wait for it for ever.
void execute_one(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, const Settings& settings,
                 std::uint64_t execute_start) noexcept {
    const std::uint64_t compute_start = now();
    bool success = false;
    log_and_delete(guarded(
        [&] { success = settings.decoupled ? answer_stream(request, settings) : answer_once(request, settings); }));
    const std::uint64_t compute_end = now();
    log_and_delete(TRITONBACKEND_ModelInstanceReportStatistics(instance, request, success, execute_start, compute_start,
                                                               compute_end, compute_end));
    log_and_delete(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

void execute(TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, std::uint32_t count) {
    const std::uint64_t execute_start = now();
    const Settings& settings = settings_of(instance);
    std::uint64_t batch_size = 0;
    for (std::uint32_t index = 0; index < count; ++index) {
        batch_size += batch_size_of(requests[index], settings);
    }
    // From here on the requests are ours, so nothing may throw: an error would hand them back to Triton.
    const std::uint64_t compute_start = now();
    for (std::uint32_t index = 0; index < count; ++index) {
        execute_one(instance, requests[index], settings, execute_start);
    }
    const std::uint64_t compute_end = now();
    log_and_delete(TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, batch_size, execute_start, compute_start,
                                                                    compute_end, compute_end));
}

}  // namespace
}  // namespace identity

extern "C" {

TRITON_ENTRY_POINT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
    return identity::guarded([&] {
        auto settings = std::make_unique<identity::Settings>(identity::read_settings(model));
        if (settings->fail_to_load) {
            throw identity::Failure(TRITONSERVER_ERROR_INTERNAL,
                                    "the model refuses to load, as parameter 'fail_to_load' asks");
        }
        identity::check(TRITONBACKEND_ModelSetState(model, settings.get()));
        settings.release();  // TRITONBACKEND_ModelFinalize takes it back
    });
}

TRITON_ENTRY_POINT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
    return identity::guarded([&] {
        void* state = nullptr;
        identity::check(TRITONBACKEND_ModelState(model, &state));
        identity::check(TRITONBACKEND_ModelSetState(model, nullptr));
        const std::unique_ptr<identity::Settings> settings(static_cast<identity::Settings*>(state));
    });
}

TRITON_ENTRY_POINT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                                          TRITONBACKEND_Request** requests,
                                                                          const std::uint32_t request_count) {
    return identity::guarded([&] { identity::execute(instance, requests, request_count); });
}
}
