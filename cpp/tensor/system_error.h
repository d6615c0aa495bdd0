// What the operating system refused, as the project's exception.
#pragma once

#include <string>

#include "runtime/error.h"

namespace triton_inprocess {

/// "<action>: <what the number means>", with the Triton code that fits the number best.
Error system_error(int error_number, const std::string& action);

}  // namespace triton_inprocess
