#include "bindings/capi/request_observer.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/callback.h"
#include "bindings/capi/inference_response.h"
#include "bindings/capi/user_buffer.h"
#include "bindings/errors.h"
#include "core/buffer_attributes.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// The result of a call; what it raised is thrown as the C error that it means.
HeldObject require_result(HeldObject result) {
    if (!result.is_valid()) {
        throw take_function_error();
    }
    return result;
}

/// Reads the result of a call; what is wrong with it is an error of the function's author.
template <typename Reader>
auto read_result(const char* function, const char* expected, nb::handle result, Reader reader) {
    try {
        return reader(result);
    } catch (const nb::cast_error&) {  // NOLINT(bugprone-empty-catch): said below
    } catch (nb::python_error& error) {
        error.restore();
        clear_error_on_native_thread();
    } catch (const nb::builtin_exception&) {  // NOLINT(bugprone-empty-catch): said below
    }
    std::string shown = "something else";
    try {
        const HeldObject text = nb::steal(repr_on_native_thread(result.ptr()));
        if (!text.is_valid()) {
            throw nb::python_error();
        }
        shown = text_of(text);
    } catch (nb::python_error& error) {
        error.restore();
        clear_error_on_native_thread();
    }
    throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                std::string("the allocator's ") + function + " must return " + expected + ", not " + shown);
}

nb::tuple tuple_of(nb::handle value, std::size_t size) {
    if (PyTuple_Check(value.ptr()) == 0 || PyTuple_Size(value.ptr()) != static_cast<Py_ssize_t>(size)) {
        throw nb::type_error("");
    }
    return nb::borrow<nb::tuple>(value);
}

OutputPlacement::Place place_of(nb::handle memory_type, nb::handle memory_type_id) {
    return {nb::cast<MemoryType>(memory_type, false), integer_argument("memory_type_id", memory_type_id)};
}

}  // namespace

PythonRequestObserver::PythonRequestObserver(nb::object request, Callback response, Callback release,
                                             nb::object allocator, PythonAllocator* functions,
                                             nb::object allocator_user_object) noexcept
    : request_(request.release().ptr()),
      response_function_(response.function.release().ptr()),
      response_user_object_(response.user_object.release().ptr()),
      release_function_(release.function.release().ptr()),
      release_user_object_(release.user_object.release().ptr()),
      allocator_(allocator.release().ptr()),
      allocator_user_object_(allocator_user_object.release().ptr()),
      functions_(functions) {
    if (functions_ != nullptr) {
        functions_->begin_use();
    }
}

void PythonRequestObserver::on_response(std::unique_ptr<InferenceResponse> response, std::uint32_t flags) noexcept {
    const CallbackGil gil;
    const bool final = response->final;
    if (start_error_ && !response->error) {
        response->error = start_error_;
    }
    nb::object object;
    try {
        object = make_capi_response(std::move(response));
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    if (object.is_valid()) {
        call_back_and_report(response_function_, std::move(object), flags, nb::handle(response_user_object_));
    } else {
        report_on_native_thread(response_function_);
    }
    if (final) {
        told_one();
    }
}

void PythonRequestObserver::on_release(std::uint32_t flags) noexcept {
    const CallbackGil gil;
    if (release_function_ != nullptr) {
        call_back_and_report(release_function_, nb::handle(request_), flags, nb::handle(release_user_object_));
    }
    if ((flags & TRITONSERVER_REQUEST_RELEASE_ALL) != 0) {
        told_one();
    }
}

void PythonRequestObserver::told_one() noexcept {
    if (to_tell_.fetch_sub(1) == 1) {
        end();
    }
}

void PythonRequestObserver::end() noexcept {
    if (functions_ != nullptr) {
        std::exchange(functions_, nullptr)->end_use();
    }
    for (PyObject** const object : {&response_function_, &response_user_object_, &release_function_,
                                    &release_user_object_, &allocator_user_object_, &allocator_, &request_}) {
        if (PyObject* const last = std::exchange(*object, nullptr)) {
            let_go(last);
        }
    }
}

void PythonRequestObserver::start() {
    const CallbackGil gil;
    start_error_.reset();
    if (!call_back(functions_->start(), nb::handle(allocator_), nb::handle(allocator_user_object_)).is_valid()) {
        start_error_ = take_function_error();
        throw Error(*start_error_);
    }
}

Ref<Buffer> PythonRequestObserver::allocate(const char* name, std::size_t byte_size, Place wanted) {
    const CallbackGil gil;
    if (start_error_) {
        throw Error(*start_error_);
    }
    const HeldObject result =
        require_result(call_back(functions_->alloc(), nb::handle(allocator_), name, byte_size, wanted.first,
                                 wanted.second, nb::handle(allocator_user_object_)));
    return read_result("alloc_function",
                       "(address: int, object, TRITONSERVER_MemoryType, int), with an address for every size but 0",
                       result, [&](nb::handle value) {
                           const nb::tuple parts = tuple_of(value, 4);
                           const auto address = unsigned_argument("address", parts[0], UINTPTR_MAX);
                           if (address == 0 && byte_size != 0) {
                               throw nb::value_error("");
                           }
                           const auto [memory_type, memory_type_id] = place_of(parts[2], parts[3]);
                           void* const data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
                           return Ref<Buffer>(make_ref<UserBuffer>(
                               data, byte_size, memory_type, memory_type_id, nb::borrow(allocator_),
                               nb::borrow(functions_->release()), nb::borrow(parts[1])));
                       });
}

OutputPlacement::Place PythonRequestObserver::query(const char* name, const std::size_t* byte_size, Place wanted) {
    const CallbackGil gil;
    const nb::object size = byte_size != nullptr ? nb::object(nb::int_(*byte_size)) : nb::none();
    const HeldObject result =
        require_result(call_back(functions_->query(), nb::handle(allocator_), nb::handle(allocator_user_object_), name,
                                 size, wanted.first, wanted.second));
    return read_result("query_function", "(TRITONSERVER_MemoryType, int)", result, [](nb::handle value) {
        const nb::tuple parts = tuple_of(value, 2);
        return place_of(parts[0], parts[1]);
    });
}

void PythonRequestObserver::describe(const char* name, TRITONSERVER_BufferAttributes* attributes, Buffer& buffer) {
    const CallbackGil gil;
    const HeldObject result = require_result(call_back(functions_->buffer_attributes(), nb::handle(allocator_), name,
                                                       BufferAttributes(attributes), nb::handle(allocator_user_object_),
                                                       static_cast<const UserBuffer&>(buffer).user_object()));
    const auto* const described =
        read_result("buffer_attributes_function", "TRITONSERVER_BufferAttributes", result,
                    [](nb::handle value) { return &nb::cast<const BufferAttributes&>(value); });
    described->copy_to(attributes);
}

}  // namespace triton_inprocess
