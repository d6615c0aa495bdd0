// A pipe that Triton logs into. A thread of its own empties it: whoever logs may hold the GIL, so that nobody who needs
// the GIL must stand between a full pipe and its reader.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace triton_inprocess {

class LogPipe {
  public:
    /// What has come since the last look: lines without their ends, and how many more came after them that there was no
    /// room for.
    struct Batch {
        std::vector<std::string> lines;
        std::uint64_t dropped = 0;
    };

    static constexpr std::size_t default_capacity = std::size_t{16} << 20;

    /// A longer line is cut, and says so.
    static constexpr std::size_t longest_line = std::size_t{1} << 20;

    /// Holds at most `capacity` bytes of lines; those that come when it is full are counted and dropped.
    explicit LogPipe(std::size_t capacity = default_capacity);
    ~LogPipe();
    LogPipe(const LogPipe&) = delete;
    LogPipe& operator=(const LogPipe&) = delete;

    /// What Triton takes for a log file.
    std::string path() const;

    /// Sleeps until there is something to take; false once the pipe is closed and empty.
    bool wait();

    /// Takes what is there, which may be nothing.
    Batch take();

    /// Ends the reading; nobody may write any more.
    void close();

  private:
    void read();
    void read_what_is_there();
    void close_descriptors() noexcept;
    void add(const char* data, std::size_t size);
    void extend_line(const char* data, std::size_t size);
    void end_line();

    int read_end_ = -1;
    int write_end_ = -1;
    int stop_ = -1;  ///< Readable when the reading is to end.
    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Batch batch_;
    std::size_t held_ = 0;    ///< Bytes in `batch_`.
    std::string unfinished_;  ///< The line that has no end yet.
    std::size_t cut_ = 0;     ///< Bytes that were cut from it.
    bool ended_ = false;
    std::thread reader_;
};

}  // namespace triton_inprocess
