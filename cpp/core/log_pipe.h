// A pipe that Triton logs into. A thread of its own empties it: whoever logs may hold the GIL, so that nobody who needs
// the GIL must stand between a full pipe and its reader.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace triton_inprocess {

class LogPipe {
  public:
    LogPipe();
    ~LogPipe();
    LogPipe(const LogPipe&) = delete;
    LogPipe& operator=(const LogPipe&) = delete;

    /// What Triton takes for a log file.
    std::string path() const;

    /// Waits for lines and returns all that have come, without their line ends; none at all once the pipe is closed and
    /// empty.
    std::vector<std::string> read_lines();

    /// Ends the reading; nobody may write any more.
    void close();

  private:
    void read();
    void read_what_is_there();
    void close_descriptors() noexcept;
    void add(const char* data, std::size_t size);

    int read_end_ = -1;
    int write_end_ = -1;
    int stop_ = -1;  ///< Readable when the reading is to end.
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> lines_;
    std::string unfinished_;
    bool ended_ = false;
    std::thread reader_;
};

}  // namespace triton_inprocess
