// The process's log.
#pragma once

#include <array>
#include <fstream>
#include <mutex>
#include <string>

#include "abi/types.h"

namespace fake_triton {

class Log {
  public:
    static Log& instance();

    void enable(TRITONSERVER_LogLevel level, bool enabled);
    bool is_enabled(TRITONSERVER_LogLevel level);

    /// Empty: to stderr. False when the file cannot be opened.
    bool write_to(const std::string& path);

    void write(TRITONSERVER_LogLevel level, const std::string& file, int line, const std::string& message);

  private:
    std::mutex mutex_;
    std::ofstream file_;
    std::array<bool, 4> enabled_ = {false, false, true, false};
};

}  // namespace fake_triton
