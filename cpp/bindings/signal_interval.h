// How long a signal such as Ctrl-C can go unanswered by a thread that waits.
#pragma once

#include <chrono>

namespace triton_inprocess {

constexpr std::chrono::milliseconds signal_interval(50);

}  // namespace triton_inprocess
