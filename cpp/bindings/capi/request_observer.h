// One submission of a request whose callbacks are Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <optional>

#include "bindings/capi/response_allocator.h"
#include "core/output_placement.h"
#include "core/request_observer.h"
#include "runtime/error.h"

namespace triton_inprocess {

/// Keeps what Triton may call until nothing comes any more: the request object, its functions and its allocator.
class PythonRequestObserver final : public RequestObserver, public OutputPlacement {
  public:
    struct Callback {
        nanobind::object function;  ///< Not valid: nobody wants to know.
        nanobind::object user_object;
    };

    /// `allocator`: a TRITONSERVER_ResponseAllocator with `functions` in it, or not valid. Never throws: what it was
    /// given would be lost.
    PythonRequestObserver(nanobind::object request, Callback response, Callback release, nanobind::object allocator,
                          PythonAllocator* functions, nanobind::object allocator_user_object) noexcept;
    ~PythonRequestObserver() override { end(); }

    /// Null without an allocator.
    TRITONSERVER_ResponseAllocator* c_allocator() const noexcept {
        return functions_ != nullptr ? functions_->get() : nullptr;
    }

    void on_response(std::unique_ptr<InferenceResponse> response, std::uint32_t flags) noexcept override;
    void on_release(std::uint32_t flags) noexcept override;
    void on_failure() noexcept override { end(); }

    void start() override;
    Ref<Buffer> allocate(const char* name, std::size_t byte_size, Place wanted) override;
    Place query(const char* name, const std::size_t* byte_size, Place wanted) override;
    void describe(const char* name, TRITONSERVER_BufferAttributes* attributes, Buffer& buffer) override;

  private:
    /// The last response or the release was told.
    void told_one() noexcept;
    void end() noexcept;

    std::atomic<int> to_tell_{2};
    PyObject* request_;
    PyObject* response_function_;
    PyObject* response_user_object_;
    PyObject* release_function_;
    PyObject* release_user_object_;
    PyObject* allocator_;
    PyObject* allocator_user_object_;
    PythonAllocator* functions_;
    std::optional<Error> start_error_;  ///< Which Triton would only log.
};

}  // namespace triton_inprocess
