#include "runtime/runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>

#include "runtime/elf.h"
#include "runtime/error.h"
#include "runtime/function_table.h"
#include "runtime/library.h"

namespace triton_inprocess {
namespace {

namespace fs = std::filesystem;

std::mutex loading;
std::atomic<const Runtime*> loaded_runtime{nullptr};

// Opens what `file` needs and what lies beside it, depth first, so that each library finds its own dependencies
// already there (by SONAME) although none has an RPATH.
void open_with_dependencies(const fs::path& file, std::set<fs::path>& seen, std::vector<Library>& opened) {
    if (!seen.insert(file).second) {
        return;
    }
    for (const std::string& name : needed_libraries(file.string())) {
        const fs::path beside = file.parent_path() / name;
        if (name.find('/') == std::string::npos && fs::exists(beside)) {
            open_with_dependencies(beside, seen, opened);
        }
    }
    opened.emplace_back(file.string(), RTLD_NOW | RTLD_LOCAL);
}

std::string version_text(std::uint32_t major, std::uint32_t minor) {
    return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace

Runtime::Runtime(const std::string& path) : path_(path) {
    std::set<fs::path> seen;
    std::vector<Library> opened;
    open_with_dependencies(path, seen, opened);
    const Library& library = opened.back();

    using ApiVersion = decltype(FunctionTable::TRITONSERVER_ApiVersion);
    auto api_version = reinterpret_cast<ApiVersion>(library.symbol("TRITONSERVER_ApiVersion"));
    if (api_version == nullptr) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "'" + path + "' is not a libtritonserver: it lacks TRITONSERVER_ApiVersion");
    }
    if (TRITONSERVER_Error* const error = api_version(&major_, &minor_)) {
        using ErrorDelete = decltype(FunctionTable::TRITONSERVER_ErrorDelete);
        if (auto error_delete = reinterpret_cast<ErrorDelete>(library.symbol("TRITONSERVER_ErrorDelete"))) {
            error_delete(error);
        }
        throw Error(TRITONSERVER_ERROR_INTERNAL, "'" + path + "' does not tell the version of its C API");
    }
    if (major_ != 1 || minor_ < oldest_minor) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "'" + path + "' has Triton C API " + version_text(major_, minor_) +
                                                        "; supported are 1." + std::to_string(oldest_minor) +
                                                        " and newer 1.x");
    }
    missing_functions_ = detail::fill_function_table(
        library.handle(), "'" + path + "' (Triton C API " + version_text(major_, minor_) + ")");
    for (Library& each : opened) {
        each.keep_open();
    }
}

const Runtime& Runtime::load(const std::string& path) {
    const std::scoped_lock guard(loading);
    std::error_code failure;
    const fs::path file = fs::canonical(path, failure);
    if (failure) {
        throw Error(TRITONSERVER_ERROR_NOT_FOUND, "'" + path + "' cannot be loaded: " + failure.message());
    }
    if (const Runtime* present = loaded_runtime.load()) {
        if (present->path() != file.string()) {
            throw Error(TRITONSERVER_ERROR_ALREADY_EXISTS, "a process has one runtime: '" + present->path() +
                                                               "' is loaded, so '" + file.string() + "' cannot be");
        }
        return *present;
    }
    std::unique_ptr<const Runtime> runtime(
        new Runtime(file.string()));  // NOLINT(cppcoreguidelines-owning-memory): its constructor is private
    loaded_runtime.store(runtime.get());
    return *runtime.release();  // never deleted: Triton's threads may use it until the process ends
}

const Runtime& Runtime::current() {
    if (const Runtime* runtime = loaded()) {
        return *runtime;
    }
    throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "no Triton runtime is loaded: call triton_inprocess.runtime.load()");
}

const Runtime* Runtime::loaded() noexcept {
    return loaded_runtime.load(std::memory_order_acquire);
}

void Runtime::open_forwarder(const std::string& path, const FunctionTable& functions) {
    const std::scoped_lock guard(loading);
    current();
    Library forwarder(path, RTLD_NOW | RTLD_GLOBAL);
    auto* target = static_cast<FunctionTable*>(forwarder.symbol("triton_inprocess_forwarder_table"));
    if (target == nullptr) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "'" + path + "' is not the forwarder library");
    }
    *target = functions;
    forwarder.keep_open();
}

}  // namespace triton_inprocess
