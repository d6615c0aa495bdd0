// Which version of the C API the fake claims to have.
#pragma once

#include <cstdint>

namespace fake_triton {

struct ApiVersion {
    std::uint32_t major = 1;
    std::uint32_t minor = 34;

    static ApiVersion current() noexcept;
    static void set(ApiVersion version) noexcept;
};

}  // namespace fake_triton
