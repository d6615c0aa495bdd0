// The exception of the identity backend, and the way into and out of C errors.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "c_api.h"

namespace identity {

class Failure : public std::runtime_error {
  public:
    Failure(TRITONSERVER_Error_Code code, const std::string& message) : std::runtime_error(message), code_(code) {}

    TRITONSERVER_Error_Code code() const noexcept { return code_; }

  private:
    TRITONSERVER_Error_Code code_;
};

/// Turns a C error into a Failure and deletes it; does nothing for NULL, which is success.
inline void check(TRITONSERVER_Error* error) {
    if (error == nullptr) {
        return;
    }
    const Failure failure(TRITONSERVER_ErrorCode(error), TRITONSERVER_ErrorMessage(error));
    TRITONSERVER_ErrorDelete(error);
    throw failure;
}

/// Runs `function`; what it throws becomes a C error, which the caller owns. NULL is success.
template <typename Function>
TRITONSERVER_Error* guarded(Function&& function) noexcept {
    try {
        function();
        return nullptr;
    } catch (const Failure& failure) {
        return TRITONSERVER_ErrorNew(failure.code(), failure.what());
    } catch (const std::exception& failure) {
        return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, failure.what());
    }
}

/// For errors that nobody can be told of: they go to Triton's log.
inline void log_and_delete(TRITONSERVER_Error* error) noexcept {
    if (error == nullptr) {
        return;
    }
    TRITONSERVER_Error* log_error =
        TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, TRITONSERVER_ErrorMessage(error));
    if (log_error != nullptr) {
        TRITONSERVER_ErrorDelete(log_error);
    }
    TRITONSERVER_ErrorDelete(error);
}

}  // namespace identity
