#include "bindings/capi/inference_request.h"

#include <nanobind/intrusive/counter.h>
#include <nanobind/intrusive/ref.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
#include "bindings/garbage_collection.h"
#include "bindings/gil.h"
#include "core/server.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute response_futures("triton_inprocess._response_futures", "ResponseFutures");

/// Before a request is changed: one that is answered is a moment away from its release, which must not need the GIL.
CapiRequest& settled(CapiRequest& request) {
    if (request.in_flight()) {
        const ReleaseGil released;
        request.block()->wait_for_release();
    }
    return request;
}

/// A method that changes the request.
template <typename Result, typename... Arguments>
auto changing(Result (InferenceRequest::*method)(Arguments...)) {
    return [method](CapiRequest& self, Arguments... arguments) { (settled(self).*method)(arguments...); };
}

const void* to_pointer(std::uintptr_t address) noexcept {
    return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

template <typename Integer>
Integer bits_argument(const char* argument, nb::handle value) {
    return static_cast<Integer>(unsigned_argument(argument, value, std::numeric_limits<Integer>::max()));
}

PythonAllocator& allocator_in(nb::handle value) {
    return instance_argument<PythonAllocator>("allocator", "a TRITONSERVER_ResponseAllocator or None", value);
}

}  // namespace

void CapiRequest::set_release_callback(nb::object function, nb::object user_object) {
    nb::object callable = callable_argument("request_release_function", std::move(function));
    block()->idle();
    release_function_ = std::move(callable);
    release_user_object_ = std::move(user_object);
}

void CapiRequest::set_response_callback(nb::object allocator, nb::object allocator_user_object, nb::object function,
                                        nb::object user_object) {
    if (!allocator.is_none()) {
        allocator_in(allocator);
    }
    nb::object callable = callable_argument("response_function", std::move(function));
    block()->idle();
    allocator_ = allocator.is_none() ? nb::object() : std::move(allocator);
    allocator_user_object_ = std::move(allocator_user_object);
    response_function_ = std::move(callable);
    response_user_object_ = std::move(user_object);
}

nb::object CapiRequest::futures() {
    if (!futures_.is_valid()) {
        const nb::tuple nothing = nb::make_tuple();
        nb::object made = nb::steal(call_on_native_thread(response_futures.get().ptr(), nothing.ptr(), nullptr));
        if (!made.is_valid()) {
            throw nb::python_error();
        }
        if (!futures_.is_valid()) {  // making it can have run anything
            futures_ = std::move(made);
        }
    }
    return futures_;
}

void CapiRequest::get_next_response(nb::object future) {
    if (response_function_.is_valid()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the request has a response callback, which gets the responses: no future can");
    }
    // Where the interpreter ends meanwhile, the thread must not be unwound through here.
    const nb::object add = futures().attr("add_future");
    const nb::tuple arguments = nb::make_tuple(future);
    if (!nb::steal(call_on_native_thread(add.ptr(), arguments.ptr(), nullptr)).is_valid()) {
        throw nb::python_error();
    }
}

Ref<PythonRequestObserver> CapiRequest::observe(nb::object self) {
    PythonRequestObserver::Callback response;
    if (response_function_.is_valid()) {
        response = {response_function_, response_user_object_};
    } else {
        response = {futures().attr("add_response"), nb::none()};
    }
    PythonAllocator* const functions = allocator_.is_valid() ? &allocator_in(allocator_) : nullptr;
    return make_ref<PythonRequestObserver>(std::move(self), std::move(response),
                                           PythonRequestObserver::Callback{release_function_, release_user_object_},
                                           allocator_, functions, allocator_user_object_);
}

std::array<PyObject*, 7> CapiRequest::held() const noexcept {
    return {release_function_.ptr(),  release_user_object_.ptr(),  allocator_.ptr(), allocator_user_object_.ptr(),
            response_function_.ptr(), response_user_object_.ptr(), futures_.ptr()};
}

void CapiRequest::let_go() noexcept {
    for (HeldObject* const object : {&release_function_, &release_user_object_, &allocator_, &allocator_user_object_,
                                     &response_function_, &response_user_object_, &futures_}) {
        object->reset();
    }
}

void register_capi_request(nb::module_& module) {
    using namespace nb::literals;
    using Request = InferenceRequest;
    nb::class_<CapiRequest>(
        module, "TRITONSERVER_InferenceRequest",
        nb::intrusive_ptr<CapiRequest>(
            [](CapiRequest* request, PyObject* self) noexcept { request->set_self_py(self); }),
        nb::type_slots(garbage_collection_slots<CapiRequest>()),
        "A request (TRITONSERVER_InferenceRequest): it is filled, sent by TRITONSERVER_Server.infer_async, and sent "
        "again "
        "when it is completed, which is when the last response and the release have come. While it is in flight, "
        "everything that would change it raises UnavailableError, and dropping it is harmless. The memory that its "
        "inputs are given by address must stay until then.")
        .def(
            "__init__",
            [](CapiRequest* self, const Server& server, nb::handle model_name, std::int64_t model_version) {
                new (self) CapiRequest(server.state(), text_argument("model_name", model_name), model_version,
                                       RequestBlock::Use::reusable);
            },
            "server"_a, "model_name"_a, "model_version"_a,
            nb::sig("def __init__(self, server: Server, model_name: str, model_version: int) -> None"),
            "A request for a model; version -1 is the one that the model's policy says "
            "(TRITONSERVER_InferenceRequestNew).\n\nRaises NotFoundError for a model that the server does not serve.")
        .def_prop_rw(
            "id", &Request::id, [](CapiRequest& self, nb::handle id) { settled(self).set_id(text_argument("id", id)); },
            nb::for_setter(nb::sig("def id(self, id: str, /) -> None")),
            "A name that comes back with the responses (TRITONSERVER_InferenceRequestId, …SetId).")
        .def_prop_rw(
            "flags", &Request::flags,
            [](CapiRequest& self, nb::handle flags) {
                settled(self).set_flags(bits_argument<std::uint32_t>("flags", flags));
            },
            nb::for_setter(nb::sig("def flags(self, flags: int, /) -> None")),
            "Bits of TRITONSERVER_RequestFlag (TRITONSERVER_InferenceRequestFlags, …SetFlags).")
        .def_prop_rw(
            "correlation_id", &Request::correlation_id,
            [](CapiRequest& self, nb::handle id) {
                settled(self).set_correlation_id(bits_argument<std::uint64_t>("correlation_id", id));
            },
            nb::for_setter(nb::sig("def correlation_id(self, correlation_id: int, /) -> None")),
            "The sequence that the request belongs to (TRITONSERVER_InferenceRequestCorrelationId, …SetCorrelationId). "
            "Raises when it is a text.")
        .def_prop_rw(
            "correlation_id_string", &Request::correlation_id_string,
            [](CapiRequest& self, nb::handle id) {
                settled(self).set_correlation_id(text_argument("correlation_id_string", id));
            },
            nb::for_setter(nb::sig("def correlation_id_string(self, correlation_id: str, /) -> None")),
            "The sequence by a text (TRITONSERVER_InferenceRequestCorrelationIdString, …SetCorrelationIdString). "
            "Raises "
            "when it is a number.")
        .def_prop_rw(
            "priority", &Request::priority,
            [](CapiRequest& self, nb::handle priority) {
                settled(self).set_priority_uint32(bits_argument<std::uint32_t>("priority", priority));
            },
            nb::for_setter(nb::sig("def priority(self, priority: int, /) -> None")),
            "The priority, 0 for the model's default (TRITONSERVER_InferenceRequestPriority, …SetPriority).")
        .def_prop_rw(
            "priority_uint64", &Request::priority_uint64,
            [](CapiRequest& self, nb::handle priority) {
                settled(self).set_priority_uint64(bits_argument<std::uint64_t>("priority_uint64", priority));
            },
            nb::for_setter(nb::sig("def priority_uint64(self, priority: int, /) -> None")),
            "The priority with 64 bits (TRITONSERVER_InferenceRequestPriorityUInt64, …SetPriorityUInt64, from C API "
            "1.23).")
        .def_prop_rw(
            "timeout_microseconds", &Request::timeout_microseconds,
            [](CapiRequest& self, nb::handle timeout) {
                settled(self).set_timeout_microseconds(bits_argument<std::uint64_t>("timeout_microseconds", timeout));
            },
            nb::for_setter(nb::sig("def timeout_microseconds(self, timeout: int, /) -> None")),
            "How long the request may wait in a queue, 0 for the model's default "
            "(TRITONSERVER_InferenceRequestTimeoutMicroseconds, …SetTimeoutMicroseconds).")
        .def(
            "add_input",
            [](CapiRequest& self, const std::string& name, DataType data_type, const std::vector<std::int64_t>& shape) {
                settled(self).add_input(name, data_type, shape);
            },
            "name"_a, "data_type"_a, "shape"_a, "Add an input without data (TRITONSERVER_InferenceRequestAddInput).")
        .def("add_raw_input", changing(&Request::add_raw_input), "name"_a,
             "Add the only input, whose type and shape the model knows (TRITONSERVER_InferenceRequestAddRawInput).")
        .def("remove_input", changing(&Request::remove_input), "name"_a,
             "Remove an input (TRITONSERVER_InferenceRequestRemoveInput).")
        .def("remove_all_inputs", changing(&Request::remove_all_inputs),
             "Remove the inputs (TRITONSERVER_InferenceRequestRemoveAllInputs).")
        .def(
            "append_input_data",
            [](CapiRequest& self, const std::string& name, std::uintptr_t address, std::size_t byte_size,
               MemoryType memory_type, std::int64_t memory_type_id) {
                settled(self).append_input_data(name, to_pointer(address), byte_size, memory_type, memory_type_id);
            },
            "name"_a, "address"_a, "byte_size"_a, "memory_type"_a, "memory_type_id"_a,
            "Add memory to an input (TRITONSERVER_InferenceRequestAppendInputData). Triton reads it until the request "
            "is "
            "released: it must stay and be that large.")
        .def(
            "append_input_data_with_host_policy",
            [](CapiRequest& self, const std::string& name, std::uintptr_t address, std::size_t byte_size,
               MemoryType memory_type, std::int64_t memory_type_id, const std::string& host_policy) {
                settled(self).append_input_data(name, to_pointer(address), byte_size, memory_type, memory_type_id,
                                                host_policy);
            },
            "name"_a, "address"_a, "byte_size"_a, "memory_type"_a, "memory_type_id"_a, "host_policy"_a,
            "The same for instances with that host policy only "
            "(TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy).")
        .def(
            "append_input_data_with_buffer_attributes",
            [](CapiRequest& self, const std::string& name, std::uintptr_t address, const BufferAttributes& attributes) {
                settled(self).append_input_data(name, to_pointer(address), attributes);
            },
            "name"_a, "address"_a, "buffer_attributes"_a,
            "The same with the memory's attributes (TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes).")
        .def("remove_all_input_data", changing(&Request::remove_all_input_data), "name"_a,
             "Remove an input's memory (TRITONSERVER_InferenceRequestRemoveAllInputData).")
        .def("add_requested_output", changing(&Request::add_requested_output), "name"_a,
             "Ask for this output; without any, all come (TRITONSERVER_InferenceRequestAddRequestedOutput).")
        .def("remove_requested_output", changing(&Request::remove_requested_output), "name"_a,
             "Do not ask for this output (TRITONSERVER_InferenceRequestRemoveRequestedOutput).")
        .def("remove_all_requested_outputs", changing(&Request::remove_all_requested_outputs),
             "Ask for no output in particular (TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs).")
        .def(
            "set_string_parameter",
            [](CapiRequest& self, const std::string& key, nb::handle value) {
                settled(self).set_parameter(key, text_argument("value", value));
            },
            "key"_a, "value"_a, nb::sig("def set_string_parameter(self, key: str, value: str) -> None"),
            "Give the model a text (TRITONSERVER_InferenceRequestSetStringParameter, from C API 1.21).")
        .def(
            "set_int_parameter",
            [](CapiRequest& self, const std::string& key, nb::handle value) {
                settled(self).set_parameter(key, integer_argument("value", value));
            },
            "key"_a, "value"_a, nb::sig("def set_int_parameter(self, key: str, value: int) -> None"),
            "Give the model an integer of 64 bits (TRITONSERVER_InferenceRequestSetIntParameter, from C API 1.21). "
            "Raises TypeError for a bool and OverflowError beyond 64 bits.")
        .def(
            "set_bool_parameter",
            [](CapiRequest& self, const std::string& key, nb::handle value) {
                settled(self).set_parameter(key, bool_argument("value", value));
            },
            "key"_a, "value"_a, nb::sig("def set_bool_parameter(self, key: str, value: bool) -> None"),
            "Give the model a bool (TRITONSERVER_InferenceRequestSetBoolParameter, from C API 1.21).")
        .def(
            "set_double_parameter",
            [](CapiRequest& self, const std::string& key, nb::handle value) {
                settled(self).set_parameter(key, float_argument("value", value));
            },
            "key"_a, "value"_a, nb::sig("def set_double_parameter(self, key: str, value: float) -> None"),
            "Give the model a float (TRITONSERVER_InferenceRequestSetDoubleParameter, from C API 1.28).")
        .def(
            "cancel",
            [](CapiRequest& self) {
                const ReleaseGil released;
                self.cancel();
            },
            "Ask Triton to give up on the request, which then ends with a CancelledError or, when it is too late, as "
            "usual; nothing happens when it is not in flight (TRITONSERVER_InferenceRequestCancel).\n\n"
            "Raises UnsupportedError before C API 1.25.")
        .def("is_cancelled", &Request::is_cancelled,
             "Whether it was cancelled since it was sent last (TRITONSERVER_InferenceRequestIsCancelled, from C API "
             "1.25).")
        .def(
            "set_release_callback",
            [](CapiRequest& self, nb::object function, nb::object user_object) {
                settled(self).set_release_callback(std::move(function), std::move(user_object));
            },
            "request_release_function"_a, "request_release_userp"_a.none(),
            nb::sig("def set_release_callback(self, request_release_function: "
                    "triton_inprocess._types.RequestReleaseFunction, request_release_userp: typing.Any) -> None"),
            "Have a function called with (request, flags, user_object) when Triton has done with the request; `flags` "
            "are "
            "bits of TRITONSERVER_RequestReleaseFlag (TRITONSERVER_InferenceRequestSetReleaseCallback). It runs on one "
            "of "
            "Triton's threads, and what it raises goes to sys.unraisablehook.")
        .def(
            "set_response_callback",
            [](CapiRequest& self, nb::object allocator, nb::object allocator_user_object, nb::object function,
               nb::object user_object) {
                settled(self).set_response_callback(std::move(allocator), std::move(allocator_user_object),
                                                    std::move(function), std::move(user_object));
            },
            "allocator"_a.none(), "allocator_userp"_a.none(), "response_function"_a, "response_userp"_a.none(),
            nb::sig(
                "def set_response_callback(self, allocator: TRITONSERVER_ResponseAllocator | None, allocator_userp: "
                "typing.Any, response_function: triton_inprocess._types.ResponseFunction, response_userp: typing.Any) "
                "-> None"),
            "Have a function called with (response or None, flags, user_object) for each response; `flags` are bits of "
            "TRITONSERVER_ResponseCompleteFlag (TRITONSERVER_InferenceRequestSetResponseCallback). The outputs lie "
            "where "
            "`allocator` says, with None in pooled host memory. It runs on one of Triton's threads, and what it raises "
            "goes to sys.unraisablehook.")
        .def("get_next_response", &CapiRequest::get_next_response, "future"_a,
             nb::sig("def get_next_response(self, future: concurrent.futures.Future[typing.Any] | "
                     "asyncio.Future[typing.Any]) -> None"),
             "Complete a future with the next response: (response or None, flags). Responses and futures meet in their "
             "order; a future that is cancelled gets none.\n\n"
             "Raises InvalidArgumentError when the request has a response callback.");
}

}  // namespace triton_inprocess
