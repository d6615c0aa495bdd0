#include "execution.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "breach.h"
#include "dropped.h"
#include "error.h"
#include "implementation.h"
#include "response_allocator.h"
#include "server.h"

namespace fake_triton {

Execution::Execution(TRITONSERVER_InferenceRequest& request, TRITONSERVER_InferenceTrace* trace)
    : request_(request),
      trace_(trace),
      delivery_(DeliverySettings::instance().current()),
      allocator_(*request.allocator),
      respond_(request.respond),
      respond_user_(request.respond_user) {}

TRITONSERVER_Error* Execution::submit(TRITONSERVER_Server& server, TRITONSERVER_InferenceRequest& request,
                                      TRITONSERVER_InferenceTrace* trace) {
    if (&request.server != &server) {
        breach(describe(&request, "InferenceRequest") + " is submitted to another server than it was made for");
    }
    if (!server.running()) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "the server is stopping");
    }
    if (!request.model.ready.load()) {
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "model '" + request.model.name + "' is not ready");
    }
    if (TRITONSERVER_Error* error = request.check()) {
        return error;
    }
    if (trace != nullptr) {
        trace->take();
        trace->model_name = request.model.name;
        trace->model_version = Model::version;
        trace->request_id = request.id;
        trace->report(TRITONSERVER_TRACE_REQUEST_START);
    }
    if (DeliverySettings::instance().take_enqueueing_failure()) {
        if (trace != nullptr) {
            trace->give_back();
        }
        return failure(TRITONSERVER_ERROR_UNAVAILABLE, "the queue of model '" + request.model.name + "' is full");
    }
    request.cancelled.store(false);
    request.in_flight.store(true);
    ++live(request.allocator).uses;
    auto execution = std::make_shared<Execution>(request, trace);
    const Delivery delivery = execution->delivery_;
    if (request.model.behaviour.cached) {
        execution->run();
    } else {
        const std::chrono::milliseconds delay(delivery.delay_milliseconds);
        server.workers.post(&request, delay, [execution] { execution->run(); });
    }
    // From here on the request may be gone.
    std::this_thread::sleep_for(std::chrono::milliseconds(delivery.linger_milliseconds));
    return nullptr;
}

void Execution::run() {
    const CurrentFunction scope("a request's execution");
    compute();
    if (delivery_.reschedule) {
        request_.release(&request_, TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, request_.release_user);
    }
    if (delivery_.order == FAKE_TRITON_RELEASE_FIRST) {
        release();
        respond();
    } else if (delivery_.order == FAKE_TRITON_TOGETHER) {
        std::thread releasing(&Execution::release, this);
        respond();
        releasing.join();
    } else {
        respond();
        release();
    }
}

// Whatever reads the inputs: they are the caller's again once the request is released.
void Execution::compute() {
    if (trace_ != nullptr) {
        trace_->report(TRITONSERVER_TRACE_QUEUE_START);
        report_tensors(TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT);
        trace_->report(TRITONSERVER_TRACE_COMPUTE_START);
        report_tensors(TRITONSERVER_TRACE_TENSOR_BACKEND_INPUT);
        trace_->report(TRITONSERVER_TRACE_COMPUTE_INPUT_END);
        trace_steps();
    }
    const ModelBehaviour& behaviour = request_.model.behaviour;
    if (behaviour.decoupled && !request_.cancelled.load()) {
        const auto found = request_.parameters.find("responses");
        const std::int64_t count = found == request_.parameters.end() ? 3 : found->second.get(std::int64_t{3});
        for (std::int64_t index = 0; index < count; ++index) {
            add_response(0);
        }
        answers_.push_back({nullptr, TRITONSERVER_RESPONSE_COMPLETE_FINAL});
    } else {
        add_response(TRITONSERVER_RESPONSE_COMPLETE_FINAL);
    }
    if (trace_ != nullptr) {
        trace_->report(TRITONSERVER_TRACE_COMPUTE_OUTPUT_START);
        trace_->report(TRITONSERVER_TRACE_COMPUTE_END);
    }
    const bool succeeded = std::none_of(answers_.begin(), answers_.end(), [](const Answer& answer) {
        return answer.response != nullptr && answer.response->error;
    });
    ++(succeeded ? request_.model.succeeded : request_.model.failed);
}

void Execution::trace_steps() {
    for (const std::string& step : request_.model.behaviour.steps) {
        TRITONSERVER_InferenceTrace* const child = trace_->spawn_child();
        child->take();
        child->model_name = step;
        child->model_version = Model::version;
        for (const auto activity :
             {TRITONSERVER_TRACE_REQUEST_START, TRITONSERVER_TRACE_QUEUE_START, TRITONSERVER_TRACE_COMPUTE_START,
              TRITONSERVER_TRACE_COMPUTE_INPUT_END, TRITONSERVER_TRACE_COMPUTE_OUTPUT_START,
              TRITONSERVER_TRACE_COMPUTE_END, TRITONSERVER_TRACE_REQUEST_END}) {
            child->report(activity);
        }
        child_traces_.push_back(child);
    }
}

void Execution::add_response(std::uint32_t flags) {
    auto* const response = new TRITONSERVER_InferenceResponse(request_);
    answers_.push_back({response, flags});
    const ModelBehaviour& behaviour = request_.model.behaviour;
    if (request_.cancelled.load()) {
        response->fail(TRITONSERVER_ERROR_CANCELLED, "the request was cancelled");
    }
    if (behaviour.fails) {
        response->fail(TRITONSERVER_ERROR_INTERNAL, "model '" + request_.model.name + "' always fails");
    }
    if (response->error) {
        return;
    }
    if (behaviour.parameters) {
        response->parameters.emplace_back("string", std::string("text"));
        response->parameters.emplace_back("int", std::int64_t{1} << 40);
        response->parameters.emplace_back("bool", true);
        response->parameters.emplace_back("double", 0.5);
        // The C API does not say how long these are: a request can do without.
        const auto found = request_.parameters.find("bytes");
        if (found == request_.parameters.end() || found->second.get(true)) {
            response->parameters.emplace_back("bytes", ParameterValue::bytes("bytes"));
        }
    }
    const std::vector<std::string>& wanted = request_.requested_outputs;
    for (const Input& input : request_.inputs) {
        const bool is_wanted =
            wanted.empty() || std::find(wanted.begin(), wanted.end(), output_name(input.name)) != wanted.end();
        if (is_wanted && !response->error) {
            response->add_output(input);
        }
    }
    report_outputs(*response);
}

void Execution::report_tensors(TRITONSERVER_InferenceTraceActivity activity) const {
    for (const Input& input : request_.inputs) {
        const InputData first = input.data.empty() ? InputData{nullptr, 0, TRITONSERVER_MEMORY_CPU, 0} : input.data[0];
        trace_->report_tensor(activity, input.name, input.data_type, first.base, first.byte_size, input.shape.data(),
                              input.shape.size(), first.memory_type, first.memory_type_id);
    }
}

void Execution::report_outputs(const TRITONSERVER_InferenceResponse& response) const {
    if (trace_ == nullptr) {
        return;
    }
    for (const Output& output : response.outputs) {
        trace_->report_tensor(TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT, output.name, output.data_type, output.base,
                              output.byte_size, output.shape.data(), output.shape.size(), output.memory_type,
                              output.memory_type_id);
    }
}

void Execution::respond() {
    for (const Answer& answer : answers_) {
        const bool final = (answer.flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
        if (final && (delivery_.drop & FAKE_TRITON_DROP_FINAL_RESPONSE) != 0) {
            Dropped::instance().keep([self = shared_from_this(), answer] { self->call_back(answer); });
        } else if (delivery_.on_own_threads) {
            std::thread(&Execution::call_back, this, std::cref(answer)).join();
        } else {
            call_back(answer);
        }
    }
}

void Execution::call_back(const Answer& answer) {
    if ((answer.flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) {
        --allocator_.uses;  // from here on only the response itself needs it
    }
    respond_(answer.response, answer.flags, respond_user_);
}

void Execution::release() {
    const auto give_back = [self = shared_from_this()] {
        self->finish_trace();
        self->request_.in_flight.store(false);
        self->request_.release(&self->request_, TRITONSERVER_REQUEST_RELEASE_ALL, self->request_.release_user);
    };
    if ((delivery_.drop & FAKE_TRITON_DROP_RELEASE) != 0) {
        Dropped::instance().keep(give_back);
    } else {
        give_back();
    }
}

void Execution::finish_trace() {
    if (trace_ == nullptr) {
        return;
    }
    const auto give_children_back = [this] {
        for (TRITONSERVER_InferenceTrace* const child : child_traces_) {
            child->give_back();
        }
    };
    if (!delivery_.child_traces_last) {
        give_children_back();
    }
    trace_->report(TRITONSERVER_TRACE_REQUEST_END);
    trace_->give_back();
    if (delivery_.child_traces_last) {
        give_children_back();
    }
}

namespace implementation {

TRITONSERVER_Error* TRITONSERVER_ServerInferAsync(TRITONSERVER_Server* server,
                                                  TRITONSERVER_InferenceRequest* inference_request,
                                                  TRITONSERVER_InferenceTrace* trace) {
    TRITONSERVER_Server& target = live(server);
    ++target.calls;
    TRITONSERVER_Error* const error =
        Execution::submit(target, own(inference_request), trace == nullptr ? nullptr : &live(trace));
    --target.calls;
    return error;
}

}  // namespace implementation
}  // namespace fake_triton
