// Whether this thread is inside a call that Triton makes to a user's Python function.
#pragma once

namespace triton_inprocess {

/// While one lives, its thread must not wait for Triton: Triton waits for it.
class CallbackScope {
  public:
    CallbackScope() noexcept { ++depth(); }
    ~CallbackScope() { --depth(); }
    CallbackScope(const CallbackScope&) = delete;
    CallbackScope& operator=(const CallbackScope&) = delete;

    static bool inside() noexcept { return depth() != 0; }

  private:
    static int& depth() noexcept {
        thread_local int value = 0;
        return value;
    }
};

}  // namespace triton_inprocess
