#include "api_version.h"

#include <atomic>

#include "implementation.h"

namespace fake_triton {
namespace {

std::atomic<ApiVersion> claimed{ApiVersion{}};

}  // namespace

ApiVersion ApiVersion::current() noexcept {
    return claimed.load(std::memory_order_relaxed);
}

void ApiVersion::set(ApiVersion version) noexcept {
    claimed.store(version, std::memory_order_relaxed);
}

namespace implementation {

TRITONSERVER_Error* TRITONSERVER_ApiVersion(uint32_t* major, uint32_t* minor) {
    const ApiVersion version = ApiVersion::current();
    *major = version.major;
    *minor = version.minor;
    return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(uint32_t* major, uint32_t* minor) {
    *major = 1;
    *minor = 19;
    return nullptr;
}

}  // namespace implementation
}  // namespace fake_triton
