// What one model's configuration asks of the identity backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace identity {

/// Read from `parameters` of the model configuration, each a whole number in a `string_value`:
///
///   responses     how many responses a request gets before the final flag (decoupled models only; default 1)
///   fail_after    this many responses are good, the next one is an error, the rest are good again
///   delay_us      microseconds slept before each response (before the final flag where there is none)
///   fail_to_load  "1": the model refuses to load
struct Settings {
    bool batching = false;
    bool decoupled = false;
    bool fail_to_load = false;
    std::uint32_t responses = 1;
    std::optional<std::uint32_t> fail_after;
    std::chrono::microseconds delay{0};

    /// Throws Failure, naming the parameter, its value and what was expected.
    static Settings from_model_configuration(std::string_view json);
};

}  // namespace identity
