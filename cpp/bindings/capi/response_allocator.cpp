#include "bindings/capi/response_allocator.h"

#include <utility>

#include "bindings/arguments.h"
#include "bindings/garbage_collection.h"
#include "bindings/runtime.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

void make(PythonAllocator* self, nb::object alloc, nb::object release, nb::object start) {
    ensure_runtime();
    new (self) PythonAllocator(std::move(alloc), std::move(release), std::move(start));
}

}  // namespace

PythonAllocator::PythonAllocator(nb::object alloc, nb::object release, nb::object start)
    : allocator_(!start.is_none()),
      alloc_(callable_argument("alloc_function", std::move(alloc))),
      release_(callable_argument("release_function", std::move(release))),
      start_(start.is_none() ? nb::object() : callable_argument("start_function", std::move(start))) {}

void PythonAllocator::require_idle() const {
    if (uses_.load() != 0) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the allocator is used by a request in flight: it can be changed when that is completed");
    }
}

void PythonAllocator::set_query_function(nb::object function) {
    nb::object callable = callable_argument("query_function", std::move(function));
    require_idle();
    allocator_.enable_query();
    query_ = std::move(callable);
}

void PythonAllocator::set_buffer_attributes_function(nb::object function) {
    nb::object callable = callable_argument("buffer_attributes_function", std::move(function));
    require_idle();
    allocator_.enable_buffer_attributes();
    buffer_attributes_ = std::move(callable);
}

std::array<PyObject*, 5> PythonAllocator::held() const noexcept {
    return {alloc_.ptr(), release_.ptr(), start_.ptr(), query_.ptr(), buffer_attributes_.ptr()};
}

void PythonAllocator::let_go() noexcept {
    alloc_.reset();
    release_.reset();
    start_.reset();
    query_.reset();
    buffer_attributes_.reset();
}

void register_response_allocator(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<PythonAllocator>(
        module, "TRITONSERVER_ResponseAllocator", nb::type_slots(garbage_collection_slots<PythonAllocator>()),
        "Decides where Triton puts outputs (TRITONSERVER_ResponseAllocator). Its functions are called on Triton's "
        "threads; what they raise fails the request with that error. It may be dropped while its outputs live.")
        .def("__init__", &make, "alloc_function"_a, "release_function"_a, "start_function"_a.none() = nb::none(),
             nb::sig("def __init__(self, alloc_function: triton_inprocess._types.AllocFunction, release_function: "
                     "triton_inprocess._types.ReleaseFunction, start_function: "
                     "triton_inprocess._types.StartFunction | None = None) -> None"),
             "An allocator of three functions (TRITONSERVER_ResponseAllocatorNew).\n\n"
             "Args:\n"
             "    alloc_function: Is called for each output with (allocator, tensor_name, byte_size, memory_type, "
             "memory_type_id, user_object), where the memory type is the one that Triton prefers. Returns (address, "
             "buffer_user_object, memory_type, memory_type_id) of memory that stays until it is released.\n"
             "    release_function: Is called with (allocator, address, buffer_user_object, byte_size, memory_type, "
             "memory_type_id) when Triton and the response have done with an output; its exceptions go to "
             "sys.unraisablehook.\n"
             "    start_function: Is called with (allocator, user_object) before the outputs of each response.")
        .def("set_query_function", &PythonAllocator::set_query_function, "query_function"_a,
             nb::sig("def set_query_function(self, query_function: triton_inprocess._types.QueryFunction) -> None"),
             "Has Triton ask beforehand where an output will lie, with (allocator, user_object, tensor_name, byte_size "
             "or None, memory_type, memory_type_id); returns (memory_type, memory_type_id) "
             "(TRITONSERVER_ResponseAllocatorSetQueryFunction).\n\n"
             "Raises UnavailableError while a request in flight uses the allocator.")
        .def("set_buffer_attributes_function", &PythonAllocator::set_buffer_attributes_function,
             "buffer_attributes_function"_a,
             nb::sig("def set_buffer_attributes_function(self, buffer_attributes_function: "
                     "triton_inprocess._types.BufferAttributesFunction) -> None"),
             "Has Triton ask what an output's memory is, with (allocator, tensor_name, buffer_attributes, user_object, "
             "buffer_user_object); returns the TRITONSERVER_BufferAttributes to use "
             "(TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction).\n\n"
             "Raises UnavailableError while a request in flight uses the allocator.");
}

}  // namespace triton_inprocess
