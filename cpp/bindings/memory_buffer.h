// Python's handle on a buffer.
#pragma once

#include <nanobind/nanobind.h>

#include "tensor/buffer.h"

namespace triton_inprocess {

struct MemoryBuffer {
    Ref<Buffer> buffer;
};

void register_memory_buffer(nanobind::module_& module);

}  // namespace triton_inprocess
