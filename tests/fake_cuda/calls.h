// Which calls were made, which are to fail, and which rules were broken.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "abi/cuda.h"

namespace fake_cuda {

class Calls {
  public:
    static Calls& instance();

    bool plan(const std::string& function, std::uint64_t first, std::uint64_t count, CUresult result);
    std::int64_t count(const std::string& function);
    std::string log();
    std::string breaches();
    void reset();

    /// Counts a call; whether it is to fail with `result`.
    bool enter(const char* function, CUresult& result);
    void record(const char* function, const std::string& arguments, CUresult result);
    void breach(const std::string& text);

  private:
    struct Plan {
        std::uint64_t before;
        std::uint64_t left;
        bool endless;
        CUresult result;
    };

    std::mutex mutex_;
    std::map<std::string, Plan> plans_;
    std::map<std::string, std::int64_t> counts_;
    std::string log_;
    std::string breaches_;
};

/// Whether it is a function of the table.
bool known(const std::string& function);

inline std::string shown(std::uintptr_t value) {
    std::ostringstream text;
    text << (value < 4096 ? std::dec : std::hex) << (value < 4096 ? "" : "0x") << value;
    return text.str();
}

template <typename T>
std::string shown(T* value) {
    return shown(reinterpret_cast<std::uintptr_t>(value));
}

inline std::string shown(const CUipcMemHandle& /*handle*/) {
    return "handle";
}

template <typename T>
std::string shown(T value) {
    return std::to_string(static_cast<long long>(value));
}

template <typename... Arguments>
std::string shown_all(const Arguments&... arguments) {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + shown(arguments)), ...);
    return text;
}

}  // namespace fake_cuda
