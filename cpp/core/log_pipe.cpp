#include "core/log_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {

LogPipe::LogPipe() {
    std::array<int, 2> ends = {};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, std::string("cannot create a pipe: ") + std::strerror(errno));
    }
    read_end_ = ends[0];
    write_end_ = ends[1];
    reader_ = std::thread(&LogPipe::read, this);
}

LogPipe::~LogPipe() {
    close();
}

std::string LogPipe::path() const {
    return "/proc/self/fd/" + std::to_string(write_end_);
}

std::vector<std::string> LogPipe::read_lines() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || !lines_.empty(); });
    return std::exchange(lines_, {});
}

void LogPipe::close() {
    if (write_end_ >= 0) {
        ::close(std::exchange(write_end_, -1));
        reader_.join();
        ::close(std::exchange(read_end_, -1));
    }
}

void LogPipe::read() {
    std::array<char, 1 << 16> buffer = {};
    for (;;) {
        const ssize_t size = ::read(read_end_, buffer.data(), buffer.size());
        if (size > 0) {
            add(buffer.data(), static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            break;
        }
    }
    const std::scoped_lock guard(mutex_);
    if (!unfinished_.empty()) {
        lines_.push_back(std::exchange(unfinished_, {}));
    }
    ended_ = true;
    changed_.notify_all();
}

void LogPipe::add(const char* data, std::size_t size) {
    const std::scoped_lock guard(mutex_);
    const char* const end = data + size;
    while (const auto* const line_end = static_cast<const char*>(std::memchr(data, '\n', end - data))) {
        unfinished_.append(data, line_end);
        lines_.push_back(std::exchange(unfinished_, {}));
        data = line_end + 1;
    }
    unfinished_.append(data, end);
    changed_.notify_all();
}

}  // namespace triton_inprocess
