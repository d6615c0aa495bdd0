// The floor: the benchmark's inferences on Triton's C API, without Python.
//
//   floor LIBTRITONSERVER FORWARDER MODEL_REPOSITORY BACKEND_DIRECTORY [MODEL]
//
// Loads MODEL (default: identity), writes a JSON line, and then answers each line of its standard input by a JSON
// line, so that a driver can alternate between this program and another one:
//
//   latency INFERENCES            one inference at a time
//   rate IN_FLIGHT INFERENCES     IN_FLIGHT inferences under way at any time, the next submitted when one completes
//   submit INFERENCES             the submissions alone
//   threads THREADS INFERENCES    one inference at a time in each of THREADS threads, INFERENCES in all
//   percentiles INFERENCES        one inference at a time, each timed: "p50", "p99" and "p999" in seconds
//   copy BYTES COPIES             no inference: warm copies of so many bytes, the least that a copying model can take
//
// The answers hold "seconds", the time of it all; the first line also how long the start took ("start_seconds", from
// the opening of libtritonserver on). The end of the input ends the program. A line that cannot be served is answered
// by {"error": "..."}.
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "commands.h"
#include "json_line.h"
#include "runtime/error.h"
#include "runtime/runtime.h"
#include "server.h"

namespace triton_inprocess::benchmarks {
namespace {

void answer(const std::string& json) {
    std::cout << json << std::endl;
}

void serve_input(Commands& commands) {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            answer(commands.serve(line));
        } catch (const Error& error) {
            answer(JsonLine().add("error", error.message()).text());
        }
    }
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() != 4 && arguments.size() != 5) {
        std::cerr << "usage: floor LIBTRITONSERVER FORWARDER MODEL_REPOSITORY BACKEND_DIRECTORY [MODEL]\n";
        return 2;
    }
    const auto start = std::chrono::steady_clock::now();
    const Runtime& runtime = Runtime::load(arguments[0]);
    Runtime::open_forwarder(arguments[1]);  // before the backend is loaded: it has no dependency on libtritonserver
    const Server server(arguments[2], arguments[3], arguments.size() == 5 ? arguments[4] : "identity");
    const std::chrono::duration<double> start_time = std::chrono::steady_clock::now() - start;
    Commands commands(server);
    answer(JsonLine()
               .add("runtime", runtime.path())
               .add("api_version", std::to_string(runtime.major()) + "." + std::to_string(runtime.minor()))
               .add("start_seconds", start_time.count())
               .text());
    serve_input(commands);
    return 0;
}

}  // namespace
}  // namespace triton_inprocess::benchmarks

int main(int argument_count, char** arguments) {
    try {
        return triton_inprocess::benchmarks::run({arguments + 1, arguments + argument_count});
    } catch (const std::exception& failure) {
        std::cerr << "floor: " << failure.what() << std::endl;
        return 1;
    }
}
