#include "memory_copy.h"

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/error.h"

namespace triton_inprocess::benchmarks {

double copy_memory(std::size_t byte_size, std::size_t copies) {
    std::vector<char> source(byte_size, 1);
    std::vector<char> target(byte_size, 2);
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t index = 0; index < copies; ++index) {
        source[index % byte_size] = static_cast<char>(index);  // no copy equals the one before
        std::memcpy(target.data(), source.data(), byte_size);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (target != source) {
        throw Error(TRITONSERVER_ERROR_INTERNAL, "a copy of " + std::to_string(byte_size) + " bytes differs");
    }
    return elapsed.count();
}

}  // namespace triton_inprocess::benchmarks
