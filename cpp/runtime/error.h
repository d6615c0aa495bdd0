// The one exception of the C++ side: a Triton error code and a message.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "abi/types.h"

namespace triton_inprocess {

class Error : public std::exception {
  public:
    Error(TRITONSERVER_Error_Code code, std::string message);

    TRITONSERVER_Error_Code code() const noexcept { return code_; }
    const std::string& message() const noexcept { return message_; }
    const char* what() const noexcept override { return message_.c_str(); }

    /// What is too long for a message: the traceback of a Python function. It stays in this process.
    const std::string& detail() const noexcept { return detail_; }
    void set_detail(std::string detail) noexcept { detail_ = std::move(detail); }

    /// The same error as a C object, for returning it to Triton, which then owns it.
    TRITONSERVER_Error* to_c() const noexcept;

  private:
    TRITONSERVER_Error_Code code_;
    std::string message_;
    std::string detail_;
};

/// Turns a C error into an exception and deletes it; does nothing for NULL, which is success.
void check(TRITONSERVER_Error* error);

/// Deletes an error that nobody can be told of.
void ignore(TRITONSERVER_Error* error) noexcept;

}  // namespace triton_inprocess
