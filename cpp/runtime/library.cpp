#include "runtime/library.h"

#include <dlfcn.h>

#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {

Library::Library(const std::string& path, int flags) : handle_(dlopen(path.c_str(), flags)) {
    if (handle_ == nullptr) {
        const char* reason = dlerror();
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "'" + path + "' cannot be loaded: " + (reason != nullptr ? reason : "unknown reason"));
    }
}

Library::~Library() {
    if (handle_ != nullptr) {
        dlclose(handle_);
    }
}

Library::Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

void* Library::symbol(const char* name) const noexcept {
    return dlsym(handle_, name);
}

}  // namespace triton_inprocess
