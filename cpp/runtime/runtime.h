// The loaded libtritonserver: one per process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/function_table.h"

namespace triton_inprocess {

class Runtime {
  public:
    /// The oldest C API that is served; the major version is always 1.
    static constexpr std::uint32_t oldest_minor = 17;

    /// Opens the library at `path` (its dependencies beside it first, each by its full path) and resolves the whole
    /// C ABI. Loading the same file again returns the same object; another one throws ALREADY_EXISTS.
    static const Runtime& load(const std::string& path);

    /// The loaded runtime; throws UNAVAILABLE when none is.
    static const Runtime& current();

    /// The loaded runtime or null.
    static const Runtime* loaded() noexcept;

    const std::string& path() const noexcept { return path_; }
    std::uint32_t major() const noexcept { return major_; }
    std::uint32_t minor() const noexcept { return minor_; }
    const std::vector<std::string>& missing_functions() const noexcept { return missing_functions_; }

    /// Puts TRITONSERVER_* and TRITONBACKEND_* into the global scope by opening the forwarder library at `path`, for
    /// what was linked without a dependency on libtritonserver. `functions` are those that it passes calls on to.
    static void open_forwarder(const std::string& path, const FunctionTable& functions = api());

  private:
    explicit Runtime(const std::string& path);

    std::string path_;
    std::uint32_t major_ = 0;
    std::uint32_t minor_ = 0;
    std::vector<std::string> missing_functions_;
};

}  // namespace triton_inprocess
