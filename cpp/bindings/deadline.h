// When the caller of a request stops waiting.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <string>

namespace triton_inprocess {

class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    /// None.
    Deadline() = default;

    /// In so many seconds from now; None for none. Throws TypeError or ValueError for anything else.
    static Deadline of(nanobind::handle seconds);

    bool exists() const noexcept { return seconds_ > 0; }
    bool passed() const noexcept { return exists() && Clock::now() >= end_; }

    /// When it is, if it exists.
    std::optional<Clock::time_point> end() const noexcept { return exists() ? std::make_optional(end_) : std::nullopt; }

    /// Until then; 0 when it has passed. Only if it exists.
    Clock::duration remaining() const noexcept;

    /// TimeoutError, set as Python's error.
    [[noreturn]] void raise(const std::string& model) const;

  private:
    double seconds_ = 0;
    Clock::time_point end_;
};

}  // namespace triton_inprocess
