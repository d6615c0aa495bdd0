// The floor: the benchmark's inferences on Triton's C API, without Python.
//
//   floor LIBTRITONSERVER FORWARDER MODEL_REPOSITORY BACKEND_DIRECTORY [MODEL]
//
// Loads MODEL (default: identity), writes a JSON line, and then answers each line of its standard input by a JSON
// line, so that a driver can alternate between this program and another one:
//
//   latency INFERENCES          one inference at a time
//   rate IN_FLIGHT INFERENCES   IN_FLIGHT inferences under way at any time, the next submitted when one completes
//
// The end of the input ends the program. A line that cannot be served is answered by {"error": "..."}.
#include <charconv>
#include <exception>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "inference.h"
#include "runtime/error.h"
#include "runtime/runtime.h"
#include "server.h"

namespace triton_inprocess::benchmarks {
namespace {

std::string quoted(const std::string& text) {
    constexpr char hexadecimal[] = "0123456789abcdef";
    std::string result = "\"";
    for (const char character : text) {
        const auto code = static_cast<unsigned char>(character);
        if (character == '"' || character == '\\') {
            result += '\\';
            result += character;
        } else if (code < 0x20U) {
            result += "\\u00";
            result += hexadecimal[code >> 4];
            result += hexadecimal[code & 0xFU];
        } else {
            result += character;
        }
    }
    return result + '"';
}

void answer(const std::string& json) {
    std::cout << json << std::endl;
}

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

std::string serve(Inference& inference, const std::string& line) {
    const std::vector<std::string> words = split(line);
    const bool latency = words.size() == 2 && words[0] == "latency";
    const bool rate = words.size() == 3 && words[0] == "rate";
    if (!latency && !rate) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "got '" + line + "'; expected 'latency INFERENCES' or 'rate IN_FLIGHT INFERENCES'");
    }
    const std::size_t in_flight = latency ? 1 : parse_count("IN_FLIGHT", words[1], Inference::most_in_flight);
    const std::size_t inferences = parse_count("INFERENCES", words.back(), std::numeric_limits<std::uint32_t>::max());
    const double seconds = inference.run(inferences, in_flight);
    std::ostringstream json;
    json.precision(9);
    json << "{\"measurement\": " << quoted(words[0]) << ", \"in_flight\": " << in_flight
         << ", \"inferences\": " << inferences << ", \"seconds\": " << seconds << "}";
    return json.str();
}

void serve_input(Inference& inference) {
    for (std::string line; std::getline(std::cin, line);) {
        try {
            answer(serve(inference, line));
        } catch (const Error& error) {
            answer("{\"error\": " + quoted(error.message()) + "}");
        }
    }
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() != 4 && arguments.size() != 5) {
        std::cerr << "usage: floor LIBTRITONSERVER FORWARDER MODEL_REPOSITORY BACKEND_DIRECTORY [MODEL]\n";
        return 2;
    }
    const Runtime& runtime = Runtime::load(arguments[0]);
    Runtime::open_forwarder(arguments[1]);  // before the backend is loaded: it has no dependency on libtritonserver
    const Server server(arguments[2], arguments[3], arguments.size() == 5 ? arguments[4] : "identity");
    Inference inference(server);
    answer("{\"ready\": true, \"runtime\": " + quoted(runtime.path()) + ", \"api_version\": \"" +
           std::to_string(runtime.major()) + "." + std::to_string(runtime.minor()) + "\"}");
    serve_input(inference);
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
