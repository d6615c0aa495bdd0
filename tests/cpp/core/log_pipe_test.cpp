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
    while (pipe.wait()) {
        const LogPipe::Batch batch = pipe.take();
        all.insert(all.end(), batch.lines.begin(), batch.lines.end());
        EXPECT_EQ(batch.dropped, 0U);
    }
    return all;
}

TEST(LogPipeTest, LinesComeWithoutTheirEnds) {
    LogPipe pipe;
    std::ofstream(pipe.path()) << "first\n\nunfin" << std::flush << "ished\nlast";
    pipe.close();
    EXPECT_EQ(read_all(pipe), (Lines{"first", "", "unfinished", "last"}));
    pipe.close();
    EXPECT_FALSE(pipe.wait());
    EXPECT_TRUE(pipe.take().lines.empty());
}

TEST(LogPipeTest, AnEmptyOneEndsItsReaders) {
    LogPipe pipe;
    std::thread reader([&pipe] { EXPECT_FALSE(pipe.wait()); });
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

TEST(LogPipeTest, WhatThereIsNoRoomForIsCounted) {
    constexpr std::size_t line_size = 100;
    constexpr std::size_t capacity = 3 * (line_size + sizeof(std::string));
    LogPipe pipe(capacity);
    {
        std::ofstream stream(pipe.path());
        for (int line = 0; line < 5000; ++line) {  // more than a pipe holds: nobody must wait for the taker
            stream << std::string(line_size, 'x') << '\n';
        }
        stream << "short\n";  // would find room, but comes after what was dropped
    }
    pipe.close();
    EXPECT_TRUE(pipe.wait());
    const LogPipe::Batch batch = pipe.take();
    EXPECT_EQ(batch.lines, Lines(3, std::string(line_size, 'x')));
    EXPECT_EQ(batch.dropped, 4998U);
    EXPECT_FALSE(pipe.wait());
}

TEST(LogPipeTest, ThereIsRoomAgainWhenTheLinesAreTaken) {
    LogPipe pipe(2 * sizeof(std::string));
    std::ofstream stream(pipe.path());
    std::uint64_t dropped = 0;
    Lines lines;
    for (int round = 0; round < 3; ++round) {
        stream << "a\n" << std::flush;
        ASSERT_TRUE(pipe.wait());
        LogPipe::Batch batch = pipe.take();
        dropped += batch.dropped;
        lines.insert(lines.end(), batch.lines.begin(), batch.lines.end());
    }
    EXPECT_EQ(lines, Lines(3, "a"));
    EXPECT_EQ(dropped, 0U);
}

TEST(LogPipeTest, OneThatHoldsNothingStillTellsHowMuchCame) {
    LogPipe pipe(0);
    std::ofstream(pipe.path()) << "a\nb\n";
    pipe.close();
    EXPECT_TRUE(pipe.wait());
    const LogPipe::Batch batch = pipe.take();
    EXPECT_TRUE(batch.lines.empty());
    EXPECT_EQ(batch.dropped, 2U);
}

TEST(LogPipeTest, ALineThatIsTooLongIsCutAndTheNextIsWhole) {
    LogPipe pipe;
    std::ofstream(pipe.path()) << std::string(LogPipe::longest_line + 5, 'x') << "\nnext\n";
    pipe.close();
    EXPECT_EQ(read_all(pipe), (Lines{std::string(LogPipe::longest_line, 'x') + " [5 bytes cut]", "next"}));
}

TEST(LogPipeTest, IsLeftWithoutReading) {
    const LogPipe pipe;
    std::ofstream(pipe.path()) << "nobody reads this\n";
}

}  // namespace
}  // namespace triton_inprocess::testing
