// Copies, without the GIL where they take long.
#pragma once

#include "tensor/buffer.h"
#include "tensor/layout.h"
#include "tensor/transfer.h"

namespace triton_inprocess {

/// The elements, which lie in host memory, in a buffer of their own, in the order and form that Triton reads. Needs the
/// GIL; whoever calls keeps the source alive.
Ref<Buffer> gathered(const Layout& layout, const void* source);

/// The bytes in a buffer of their own: where `copy_place` says, or elsewhere.
Ref<Buffer> copied(const Buffer& source);
Ref<Buffer> copied(const Buffer& source, const MemoryPlace& place);

/// What refuses a copy that was forbidden: "<what> of shape … and strides … cannot become a tensor without a copy, and
/// copy is False".
[[noreturn]] void refuse_copy(const char* what, const Layout& layout);

}  // namespace triton_inprocess
