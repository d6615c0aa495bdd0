// A response as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "bindings/held_object.h"
#include "core/inference_response.h"

namespace triton_inprocess {

struct BoundResponse {
    std::unique_ptr<InferenceResponse> response;
    HeldObject model;
    HeldObject outputs;  ///< The dict, made when it is first asked for.

    /// Whether outputs are in memory of a user's allocator and not yet in the dict.
    bool holds_python_memory() const noexcept { return response->python_memory && !outputs.is_valid(); }

    /// What an allocator of the user's has given goes back while he has all that he needs for it.
    void give_memory_back() noexcept;
    void let_go() noexcept {
        model.reset();
        outputs.reset();
    }
};

/// `model` is the Model object that the request was sent through.
nanobind::object make_response(std::unique_ptr<InferenceResponse> response, nanobind::object model);

void register_inference_response(nanobind::module_& module);

}  // namespace triton_inprocess
