// A response as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>

#include "bindings/held_object.h"
#include "core/inference_response.h"

namespace triton_inprocess {

struct BoundResponse {
    std::unique_ptr<InferenceResponse> response;
    HeldObject model;
    HeldObject outputs;  ///< The dict, made when it is first asked for.

    std::array<PyObject*, 2> held() const noexcept { return {model.ptr(), outputs.ptr()}; }
    void let_go() noexcept {
        model.reset();
        outputs.reset();
    }
};

/// `model` is the Model object that the request was sent through.
nanobind::object make_response(std::unique_ptr<InferenceResponse> response, nanobind::object model);

void register_inference_response(nanobind::module_& module);

}  // namespace triton_inprocess
