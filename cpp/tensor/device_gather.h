// Elements in GPU memory that do not lie one after the other, put in order.
#pragma once

#include <cstdint>

#include "tensor/buffer.h"
#include "tensor/layout.h"

namespace triton_inprocess {

/// The elements in a buffer of their own on the same GPU, as Layout::gather orders them. `source` is the address of the
/// element whose indices are all 0. They go by way of the host, since a GPU without a kernel copies blocks only.
/// Blocks, so call it without the GIL.
Ref<Buffer> gather_on_device(const Layout& layout, const void* source, std::int64_t device);

}  // namespace triton_inprocess
