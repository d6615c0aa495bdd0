// Which calls are to fail, and how often each function was called.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "error.h"

namespace fake_triton {

enum class Function : std::size_t {
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) name,
#include "abi/functions.def"
#undef TRITON_FUNCTION
    count
};

constexpr std::size_t function_count = static_cast<std::size_t>(Function::count);

const char* name_of(Function function) noexcept;

class Faults {
  public:
    static Faults& instance();

    /// See fake_triton_fail.
    bool plan(const std::string& function, std::uint64_t first, std::uint64_t count, TRITONSERVER_Error_Code code,
              const std::string& message);

    /// Counts a call; returns the error that it is to fail with, or null.
    TRITONSERVER_Error* enter(Function function);

    std::int64_t calls(const std::string& function) const noexcept;
    void reset();

  private:
    struct Plan {
        std::atomic<bool> armed{false};  ///< Read first: where nothing is planned, calls take no lock.
        std::uint64_t before = 0;        ///< Calls that still succeed.
        std::uint64_t left = 0;          ///< Calls that then fail; 0: all.
        TRITONSERVER_Error_Code code = TRITONSERVER_ERROR_UNKNOWN;
        std::string message;
    };

    std::mutex mutex_;
    std::array<Plan, function_count> plans_;
    std::array<std::atomic<std::int64_t>, function_count> calls_ = {};
};

}  // namespace fake_triton
