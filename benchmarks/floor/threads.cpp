#include "threads.h"

#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "inference.h"

namespace triton_inprocess::benchmarks {
namespace {

// The first of them do what cannot be divided.
std::size_t share(std::size_t inferences, std::size_t threads, std::size_t thread) {
    return inferences / threads + (thread < inferences % threads ? 1 : 0);
}

}  // namespace

double run_in_threads(const Server& server, std::size_t threads, std::size_t inferences) {
    std::vector<std::unique_ptr<Inference>> sides;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        sides.push_back(std::make_unique<Inference>(server));
    }
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::future<void>> running;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        running.push_back(std::async(std::launch::async, [&side = *sides[thread], threads, thread, inferences] {
            side.run(share(inferences, threads, thread), 1);
        }));
    }
    for (std::future<void>& each : running) {
        each.wait();
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    for (std::future<void>& each : running) {
        each.get();
    }
    return elapsed.count();
}

}  // namespace triton_inprocess::benchmarks
