#include "backend/batch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/function_call.h"
#include "backend/kept_inputs.h"
#include "backend/request_batch.h"
#include "backend/runner_call.h"
#include "bindings/gil.h"
#include "runtime/error.h"

namespace triton_inprocess {
namespace {

thread_local PythonFunction* executing = nullptr;
thread_local Ref<PythonFunction> marked;  // keeps what `executing` points to on threads of a runner's own

/// Calls the function with the inputs of all requests at once.
void run_directly(PythonFunction& function, TRITONBACKEND_ModelInstance* instance,
                  std::vector<TRITONBACKEND_Request*> requests) noexcept {
    RequestBatch batch(function, instance, std::move(requests));
    try {
        std::vector<Tensor> inputs = batch.read_inputs();
        std::vector<FunctionOutput> outputs;
        batch.computation_begins();
        {
            const NativeThreadGil gil;
            const Executing scope(function);
            drop_deferred();
            {
                // Gone before the GIL is, also when the function fails: what they hold may be Python's.
                const std::vector<Tensor> taken = std::move(inputs);
                outputs = call_function(function, taken, batch.total_rows());
            }
            warn_of_kept_inputs(batch);
        }
        batch.computation_ends();
        batch.answer(std::move(outputs));
    } catch (const Error& error) {
        batch.computation_ends();
        log_failure(function, error);
        batch.fail(error);
    } catch (const std::exception& error) {
        batch.fail(Error(TRITONSERVER_ERROR_INTERNAL, error.what()));
    }
}

void cancel(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request) noexcept {
    RequestBatch(function, instance, {request})
        .fail(Error(TRITONSERVER_ERROR_CANCELLED, "the request was cancelled before it was executed"));
}

}  // namespace

Executing::Executing(PythonFunction& function) noexcept : outer_(std::exchange(executing, &function)) {}

Executing::~Executing() {
    executing = outer_;
}

void mark_executing(PythonFunction& function) noexcept {
    marked = Ref<PythonFunction>(&function);
    executing = &function;
    function.set_own_thread();
}

PythonFunction* executing_function() noexcept {
    return executing;
}

void execute_batch(PythonFunction& function, TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests,
                   std::uint32_t count) noexcept {
    if (count == 1 && function.call() == PythonFunction::Call::direct && !is_cancelled(requests[0])) {
        run_directly(function, instance, {requests[0]});  // the rule, and the shortest way
        return;
    }
    // Without a batch dimension there is nothing to join.
    std::vector<std::vector<TRITONBACKEND_Request*>> batches;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (is_cancelled(requests[i])) {
            cancel(function, instance, requests[i]);
        } else if (function.batched() && !batches.empty()) {
            batches.front().push_back(requests[i]);
        } else {
            batches.push_back({requests[i]});
        }
    }
    if (function.call() == PythonFunction::Call::runner) {
        std::vector<std::unique_ptr<RequestBatch>> executions;
        executions.reserve(batches.size());
        for (auto& batch : batches) {
            executions.push_back(std::make_unique<RequestBatch>(function, instance, std::move(batch)));
        }
        execute_by_runner(function, instance, std::move(executions));
        return;
    }
    for (auto& batch : batches) {
        run_directly(function, instance, std::move(batch));
    }
}

}  // namespace triton_inprocess
