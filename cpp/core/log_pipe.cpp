#include "core/log_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {

LogPipe::LogPipe(std::size_t capacity) : capacity_(capacity) {
    std::array<int, 2> ends = {};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, std::string("cannot create a pipe: ") + std::strerror(errno));
    }
    read_end_ = ends[0];
    write_end_ = ends[1];
    stop_ = eventfd(0, EFD_CLOEXEC);
    // Only the reader must not block; whoever logs may.
    if (stop_ < 0 || fcntl(read_end_, F_SETFL, O_NONBLOCK) != 0) {
        close_descriptors();
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, std::string("cannot prepare a pipe: ") + std::strerror(errno));
    }
    reader_ = std::thread(&LogPipe::read, this);
}

LogPipe::~LogPipe() {
    close();
}

std::string LogPipe::path() const {
    return "/proc/self/fd/" + std::to_string(write_end_);
}

bool LogPipe::wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto something = [this] { return !batch_.lines.empty() || batch_.dropped != 0; };
    changed_.wait(lock, [&] { return ended_ || something(); });
    return something();
}

LogPipe::Batch LogPipe::take() {
    const std::scoped_lock guard(mutex_);
    held_ = 0;
    return std::exchange(batch_, {});
}

void LogPipe::close() {
    if (reader_.joinable()) {
        const std::uint64_t one = 1;
        static_cast<void>(!write(stop_, &one, sizeof(one)));
        reader_.join();
        close_descriptors();
    }
}

void LogPipe::close_descriptors() noexcept {
    for (int* const descriptor : {&read_end_, &write_end_, &stop_}) {
        if (*descriptor >= 0) {
            ::close(std::exchange(*descriptor, -1));
        }
    }
}

// The end of the pipe would not tell that nobody writes any more: a forked child keeps the other end open.
void LogPipe::read() {
    std::array<pollfd, 2> waiting = {{{read_end_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    bool stopped = false;
    while (!stopped) {
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
            break;
        }
        stopped = (waiting[1].revents & POLLIN) != 0;
        read_what_is_there();
    }
    const std::scoped_lock guard(mutex_);
    if (!unfinished_.empty()) {
        end_line();
    }
    ended_ = true;
    changed_.notify_all();
}

void LogPipe::read_what_is_there() {
    std::array<char, 1 << 16> buffer = {};
    for (;;) {
        const ssize_t size = ::read(read_end_, buffer.data(), buffer.size());
        if (size > 0) {
            add(buffer.data(), static_cast<std::size_t>(size));
        } else if (size == 0 || errno != EINTR) {
            return;
        }
    }
}

void LogPipe::add(const char* data, std::size_t size) {
    const std::scoped_lock guard(mutex_);
    const char* const end = data + size;
    while (const auto* const line_end = static_cast<const char*>(std::memchr(data, '\n', end - data))) {
        extend_line(data, line_end - data);
        end_line();
        data = line_end + 1;
    }
    extend_line(data, end - data);
    changed_.notify_all();
}

void LogPipe::extend_line(const char* data, std::size_t size) {
    const std::size_t taken = std::min(size, longest_line - unfinished_.size());
    unfinished_.append(data, taken);
    cut_ += size - taken;
}

void LogPipe::end_line() {
    std::string line = std::exchange(unfinished_, {});
    if (const std::size_t cut = std::exchange(cut_, 0)) {
        line += " [" + std::to_string(cut) + " bytes cut]";
    }
    const std::size_t size = line.size() + sizeof(std::string);
    // Once one was dropped, so are all until somebody takes what is there: what is dropped comes after what is kept.
    if (batch_.dropped != 0 || size > capacity_ - held_) {
        ++batch_.dropped;
        return;
    }
    held_ += size;
    batch_.lines.push_back(std::move(line));
}

}  // namespace triton_inprocess
