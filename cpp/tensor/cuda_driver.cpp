#include "tensor/cuda_driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/error.h"
#include "runtime/library.h"

namespace triton_inprocess {
namespace {

std::mutex opening;
std::atomic<const CudaDriver*> opened_driver{nullptr};

std::string library_name() {
    const char* const name = std::getenv(CudaDriver::library_variable);
    return name != nullptr && *name != '\0' ? name : "libcuda.so.1";
}

Library open_library(const std::string& path) {
    try {
        return Library(path, RTLD_NOW | RTLD_LOCAL);
    } catch (const Error& error) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "GPU memory needs NVIDIA's driver, whose library was looked for as the linker does (or where $" +
                        std::string(CudaDriver::library_variable) + " says): " + error.message());
    }
}

enum class Need { REQUIRED, OPTIONAL };

TRITONSERVER_Error_Code code_of(CUresult result) noexcept {
    switch (result) {
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_INVALID_HANDLE:
            return TRITONSERVER_ERROR_INVALID_ARG;
        case CUDA_ERROR_OUT_OF_MEMORY:
        case CUDA_ERROR_DEVICE_UNAVAILABLE:
        case CUDA_ERROR_DEINITIALIZED:
            return TRITONSERVER_ERROR_UNAVAILABLE;
        case CUDA_ERROR_STUB_LIBRARY:
        case CUDA_ERROR_NO_DEVICE:
        case CUDA_ERROR_NOT_SUPPORTED:
        case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
            return TRITONSERVER_ERROR_UNSUPPORTED;
        default:
            return TRITONSERVER_ERROR_INTERNAL;
    }
}

}  // namespace

CudaDriver::CudaDriver(std::string path) : path_(std::move(path)), process_(getpid()) {
    Library library = open_library(path_);
    std::string missing;
    const auto resolve = [&](auto& function, const char* symbol, Need need) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(library.symbol(symbol));
        if (function == nullptr && need == Need::REQUIRED) {
            missing += (missing.empty() ? "" : ", ") + std::string(symbol);
        }
    };
#define CUDA_FUNCTION(name, symbol, need, parameters, arguments) resolve(functions_.name, #symbol, Need::need);
#include "abi/cuda_functions.def"
#undef CUDA_FUNCTION
    if (!missing.empty()) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "'" + path_ + "' is no CUDA driver of version 11 or later: it lacks " + missing);
    }
    const auto require = [this](CUresult result, const char* function) {
        if (result != CUDA_SUCCESS) {
            throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "there is no usable GPU: " + std::string(function) + " of '" +
                                                            path_ + "' says " + describe(result));
        }
    };
    require(functions_.cuInit(0), "cuInit");
    require(functions_.cuDeviceGetCount(&device_count_), "cuDeviceGetCount");
    if (device_count_ == 0) {
        require(CUDA_ERROR_NO_DEVICE, "cuDeviceGetCount");
    }
    library.keep_open();
}

const CudaDriver& CudaDriver::instance() {
    const CudaDriver* driver = opened_driver.load(std::memory_order_acquire);
    if (driver == nullptr) {
        const std::scoped_lock guard(opening);
        driver = opened_driver.load(std::memory_order_acquire);
        if (driver == nullptr) {
            std::unique_ptr<const CudaDriver> opened(
                new CudaDriver(library_name()));  // NOLINT(cppcoreguidelines-owning-memory): its constructor is private
            driver = opened.release();            // never deleted: memory may be let go until the process ends
            opened_driver.store(driver, std::memory_order_release);
        }
    }
    if (driver->process_ != getpid()) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "CUDA is used by the process that this one was forked from, and does not survive a fork: start "
                    "processes with multiprocessing's 'spawn' method");
    }
    return *driver;
}

const CudaDriver* CudaDriver::in_use() noexcept {
    const CudaDriver* const driver = opened_driver.load(std::memory_order_acquire);
    return driver != nullptr && driver->process_ == getpid() ? driver : nullptr;
}

void CudaDriver::check(CUresult result, const std::string& action) const {
    if (result != CUDA_SUCCESS) {
        throw Error(code_of(result), action + " failed: " + describe(result));
    }
}

std::string CudaDriver::describe(CUresult result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (functions_.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
        return "CUDA error " + std::to_string(static_cast<int>(result));
    }
    std::string description = name;
    if (functions_.cuGetErrorString(result, &text) == CUDA_SUCCESS && text != nullptr) {
        description += " (" + std::string(text) + ")";
    }
    return description;
}

}  // namespace triton_inprocess
