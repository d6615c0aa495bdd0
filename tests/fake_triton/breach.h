// The end of a process that broke a rule of the C API: nothing after that would tell more.
#pragma once

#include <string>

namespace fake_triton {

/// Names the C function that this thread is in, for the report of a breach, while the object lives.
class CurrentFunction {
  public:
    explicit CurrentFunction(const char* name) noexcept;
    ~CurrentFunction();
    CurrentFunction(const CurrentFunction&) = delete;
    CurrentFunction& operator=(const CurrentFunction&) = delete;

  private:
    const char* outer_;
};

/// Writes "fake_triton: ownership breach: FUNCTION: WHAT" to stderr and aborts.
[[noreturn]] void breach(const std::string& what);

/// "InferenceRequest 0x55d0…", as reports name an object.
std::string describe(const void* object, const char* type);

}  // namespace fake_triton
