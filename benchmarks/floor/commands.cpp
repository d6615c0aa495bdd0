#include "commands.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <sstream>
#include <vector>

#include "json_line.h"
#include "memory_copy.h"
#include "runtime/error.h"
#include "threads.h"

namespace triton_inprocess::benchmarks {
namespace {

constexpr std::size_t any = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t most_threads = 64;
constexpr std::size_t most_bytes = std::size_t{1} << 32U;

struct Call {
    const Server& server;
    Inference& inference;
    std::size_t setting;  ///< The first of two numbers.
    std::size_t count;    ///< The last number.
};

JsonLine seconds_of(double seconds) {
    JsonLine line;
    line.add("seconds", seconds);
    return line;
}

double at_percentile(const std::vector<double>& sorted, double percentile) {
    const auto index = static_cast<std::size_t>(percentile / 100 * static_cast<double>(sorted.size()));
    return sorted[std::min(index, sorted.size() - 1)];
}

JsonLine percentiles(const Call& call) {
    std::vector<double> seconds = call.inference.latencies(call.count);
    std::sort(seconds.begin(), seconds.end());
    JsonLine line;
    line.add("p50", at_percentile(seconds, 50));
    line.add("p99", at_percentile(seconds, 99));
    line.add("p999", at_percentile(seconds, 99.9));
    return line;
}

struct Command {
    const char* name;
    const char* setting;  ///< Null where the command takes one number.
    std::size_t largest_setting;
    JsonLine (*serve)(const Call& call);
};

constexpr Command commands[] = {
    {"latency", nullptr, 0, [](const Call& call) { return seconds_of(call.inference.run(call.count, 1)); }},
    {"rate", "IN_FLIGHT", Inference::most_in_flight,
     [](const Call& call) { return seconds_of(call.inference.run(call.count, call.setting)); }},
    {"submit", nullptr, 0, [](const Call& call) { return seconds_of(call.inference.submit_alone(call.count)); }},
    {"threads", "THREADS", most_threads,
     [](const Call& call) { return seconds_of(run_in_threads(call.server, call.setting, call.count)); }},
    {"percentiles", nullptr, 0, &percentiles},
    {"copy", "BYTES", most_bytes, [](const Call& call) { return seconds_of(copy_memory(call.setting, call.count)); }},
};

std::size_t parse_count(const std::string& name, const std::string& text, std::size_t largest) {
    std::size_t count = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (failure != std::errc() || end != text.data() + text.size() || count < 1 || count > largest) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    name + " is '" + text + "'; expected a whole number from 1 to " + std::to_string(largest));
    }
    return count;
}

std::vector<std::string> split(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

const Command& find_command(const std::vector<std::string>& words, const std::string& line) {
    std::string known;
    for (const Command& command : commands) {
        const bool has_setting = command.setting != nullptr;
        if (!words.empty() && words[0] == command.name && words.size() == (has_setting ? 3U : 2U)) {
            return command;
        }
        known += std::string(known.empty() ? "'" : ", '") + command.name + (has_setting ? " " : "") +
                 (has_setting ? command.setting : "") + " COUNT'";
    }
    throw Error(TRITONSERVER_ERROR_INVALID_ARG, "got '" + line + "'; expected " + known);
}

}  // namespace

std::string Commands::serve(const std::string& line) {
    const std::vector<std::string> words = split(line);
    const Command& command = find_command(words, line);
    const std::size_t setting =
        command.setting != nullptr ? parse_count(command.setting, words[1], command.largest_setting) : 1;
    const std::size_t count = parse_count("COUNT", words.back(), any);
    JsonLine answer = command.serve({server_, inference_, setting, count});
    return answer.add("command", words[0]).add("setting", setting).add("count", count).text();
}

}  // namespace triton_inprocess::benchmarks
