// The log, which is the process's: the options of any server change it at once, as in the real library.
#include "log.h"

#include <array>
#include <cstdio>

#include "error.h"
#include "implementation.h"

namespace fake_triton {

Log& Log::instance() {
    static auto* const log = new Log;
    return *log;
}

void Log::enable(TRITONSERVER_LogLevel level, bool enabled) {
    const std::scoped_lock guard(mutex_);
    enabled_[level] = enabled;
}

bool Log::is_enabled(TRITONSERVER_LogLevel level) {
    const std::scoped_lock guard(mutex_);
    return enabled_[level];
}

bool Log::write_to(const std::string& path) {
    const std::scoped_lock guard(mutex_);
    file_.close();
    file_.clear();
    if (!path.empty()) {
        file_.open(path, std::ios::app);
    }
    return path.empty() || file_.is_open();
}

void Log::write(TRITONSERVER_LogLevel level, const std::string& file, int line, const std::string& message) {
    constexpr std::array<char, 4> letters = {'I', 'W', 'E', 'V'};
    const std::scoped_lock guard(mutex_);
    if (!enabled_[level]) {
        return;
    }
    const std::string text = std::string(1, letters[level]) + " " + file + ":" + std::to_string(line) + "] " + message;
    if (file_.is_open()) {
        file_ << text << std::endl;
    } else {
        std::fprintf(stderr, "%s\n", text.c_str());
    }
}

namespace implementation {

bool TRITONSERVER_LogIsEnabled(TRITONSERVER_LogLevel level) {
    return Log::instance().is_enabled(level);
}

TRITONSERVER_Error* TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char* filename, const int line,
                                            const char* msg) {
    if (level < TRITONSERVER_LOG_INFO || level > TRITONSERVER_LOG_VERBOSE) {
        return failure(TRITONSERVER_ERROR_INVALID_ARG, "unknown log level " + std::to_string(static_cast<int>(level)));
    }
    Log::instance().write(level, filename, line, msg);
    return nullptr;
}

}  // namespace implementation
}  // namespace fake_triton
