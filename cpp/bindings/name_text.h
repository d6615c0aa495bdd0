// Names of tensors as Python text: the same few come with every response.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace triton_inprocess {

/// The str for a name, made anew only when it was not asked for lately. Needs the GIL.
nanobind::object name_text(const std::string& name);

}  // namespace triton_inprocess
