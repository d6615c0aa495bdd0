// The least that a model can take which copies its input.
#pragma once

#include <cstddef>

namespace triton_inprocess::benchmarks {

/// Seconds that `copies` of `byte_size` bytes take, between two pieces of memory that were touched before.
double copy_memory(std::size_t byte_size, std::size_t copies);

}  // namespace triton_inprocess::benchmarks
