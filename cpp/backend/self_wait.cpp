#include "backend/self_wait.h"

#include <string>

#include "backend/batch.h"
#include "runtime/error.h"

namespace triton_inprocess {

SelfWait::SelfWait(const RequestBlock& request) {
    PythonFunction* const function = executing_function();
    if (function == nullptr || function->server() != request.server().get() ||
        function->model_name() != request.model_name()) {
        return;
    }
    if (function->self_wait_begins() >= function->lanes()) {
        function->self_wait_ends();
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the function of model '" + function->model_name() +
                        "' waits for an answer of its own model, which has no instance left to give one: all " +
                        std::to_string(function->lanes()) +
                        " of them wait so. Call the function itself, add instances, or make it an async function");
    }
    function_ = function;
}

SelfWait::~SelfWait() {
    if (function_ != nullptr) {
        function_->self_wait_ends();
    }
}

}  // namespace triton_inprocess
