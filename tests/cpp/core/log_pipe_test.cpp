// Log lines through a pipe.
#include "core/log_pipe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace triton_inprocess::testing {
namespace {

using Lines = std::vector<std::string>;

Lines read_all(LogPipe& pipe) {
    Lines all;
    for (Lines lines = pipe.read_lines(); !lines.empty(); lines = pipe.read_lines()) {
        all.insert(all.end(), lines.begin(), lines.end());
    }
    return all;
}

TEST(LogPipeTest, LinesComeWithoutTheirEnds) {
    LogPipe pipe;
    std::ofstream(pipe.path()) << "first\n\nunfin" << std::flush << "ished\nlast";
    pipe.close();
    EXPECT_EQ(read_all(pipe), (Lines{"first", "", "unfinished", "last"}));
    pipe.close();
    EXPECT_TRUE(pipe.read_lines().empty());
}

TEST(LogPipeTest, AnEmptyOneEndsItsReaders) {
    LogPipe pipe;
    std::thread reader([&pipe] { EXPECT_TRUE(pipe.read_lines().empty()); });
    pipe.close();
    reader.join();
}

TEST(LogPipeTest, ManyWritersAndMoreThanAPipeHolds) {
    constexpr int writers = 3;
    constexpr int lines = 2000;
    LogPipe pipe;
    std::vector<std::thread> threads;
    for (int index = 0; index < writers; ++index) {
        threads.emplace_back([&pipe] {
            std::ofstream stream(pipe.path());
            for (int line = 0; line < lines; ++line) {
                stream << std::string(99, 'x') << std::endl;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    pipe.close();
    const Lines all = read_all(pipe);
    EXPECT_EQ(all.size(), std::size_t{writers} * lines);
    EXPECT_EQ(all.back(), std::string(99, 'x'));
}

TEST(LogPipeTest, IsLeftWithoutReading) {
    const LogPipe pipe;
    std::ofstream(pipe.path()) << "nobody reads this\n";
}

}  // namespace
}  // namespace triton_inprocess::testing
