// Inferences in several threads at once.
#pragma once

#include <cstddef>

#include "server.h"

namespace triton_inprocess::benchmarks {

/// Seconds that `inferences` take in all while each of `threads` threads does its share, one at a time.
double run_in_threads(const Server& server, std::size_t threads, std::size_t inferences);

}  // namespace triton_inprocess::benchmarks
