// The binding of a request at the level of the C API: what is sent, and the Python functions that are told.
#pragma once

#include <nanobind/nanobind.h>

#include <array>

#include "bindings/capi/request_observer.h"
#include "bindings/held_object.h"
#include "core/inference_request.h"

namespace triton_inprocess {

class CapiRequest : public InferenceRequest {
  public:
    using InferenceRequest::InferenceRequest;

    void set_release_callback(nanobind::object function, nanobind::object user_object);
    void set_response_callback(nanobind::object allocator, nanobind::object allocator_user_object,
                               nanobind::object function, nanobind::object user_object);

    /// Has a future completed with the next response that nobody has got yet.
    void get_next_response(nanobind::object future);

    /// Who is told of a submission; `self` is this object as Python knows it.
    Ref<PythonRequestObserver> observe(nanobind::object self);

    std::array<PyObject*, 7> held() const noexcept;
    void let_go() noexcept;

  private:
    /// The responses and the futures that wait for them, where no response callback is set.
    nanobind::object futures();

    HeldObject release_function_;
    HeldObject release_user_object_;
    HeldObject allocator_;
    HeldObject allocator_user_object_;
    HeldObject response_function_;
    HeldObject response_user_object_;
    HeldObject futures_;
};

void register_capi_request(nanobind::module_& module);

}  // namespace triton_inprocess
