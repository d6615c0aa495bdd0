// What a request says of itself beside its inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "abi/types.h"

namespace triton_inprocess {

struct RequestInformation {
    /// Reads it; what the library is too old to tell stays empty.
    explicit RequestInformation(TRITONBACKEND_Request* request);

    std::string id;
    std::variant<std::uint64_t, std::string> correlation_id;
    std::uint32_t flags = 0;
    std::uint64_t timeout_us = 0;  ///< 0: none, or not told before C API 1.17.
    std::vector<std::pair<std::string, std::variant<std::string, std::int64_t, bool, double>>> parameters;
    std::optional<std::uint64_t> trace_id;
};

}  // namespace triton_inprocess
