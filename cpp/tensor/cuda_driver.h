// NVIDIA's driver library, opened at first use: one per process. Nothing of CUDA is linked.
#pragma once

#include <cstdint>
#include <string>

#include "abi/cuda.h"

namespace triton_inprocess {

/// The driver's functions by their documented names; an optional one that the library lacks is null.
struct CudaFunctions {
#define CUDA_FUNCTION(name, symbol, need, parameters, arguments) CUresult(*name) parameters = nullptr;
#include "abi/cuda_functions.def"
#undef CUDA_FUNCTION
};

class CudaDriver {
  public:
    /// The environment variable that names another library than libcuda.so.1: a path, or a name to search for.
    static constexpr const char* library_variable = "TRITON_INPROCESS_CUDA";

    /// The driver, opened and initialised by the first call that succeeds. Throws UNSUPPORTED where there is no driver
    /// or no GPU, saying what was looked for, and UNAVAILABLE in a process forked from one that used it: CUDA does not
    /// survive a fork.
    static const CudaDriver& instance();

    /// The driver if this very process uses it, or null: for what lets go of memory, which must not throw.
    static const CudaDriver* in_use() noexcept;

    const CudaFunctions& functions() const noexcept { return functions_; }
    const std::string& path() const noexcept { return path_; }
    int device_count() const noexcept { return device_count_; }

    /// Throws an error that says what failed, and the driver's name and description of the result.
    void check(CUresult result, const std::string& action) const;

    /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
    std::string describe(CUresult result) const;

  private:
    explicit CudaDriver(std::string path);

    std::string path_;
    CudaFunctions functions_;
    std::int64_t process_;
    int device_count_ = 0;
};

}  // namespace triton_inprocess
