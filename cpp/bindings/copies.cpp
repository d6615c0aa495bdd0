#include "bindings/copies.h"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bindings/gil.h"
#include "tensor/data_type.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {
Ref<Buffer> gathered(const Layout& layout, const void* source) {
    const std::size_t byte_size = layout.byte_size();
    Ref<Buffer> target = HostBufferPool::instance().allocate(byte_size);
    const ReleaseGilIfLarge released(byte_size);
    layout.gather(source, target->data());
    return target;
}

Ref<Buffer> copied(const Buffer& source) {
    return copied(source, copy_place(source));
}

Ref<Buffer> copied(const Buffer& source, const MemoryPlace& place) {
    const bool on_host = source.memory_type() == TRITONSERVER_MEMORY_CPU && is_at(source, place);
    // Anything else waits for a GPU.
    const ReleaseGilIfLarge released(on_host ? source.byte_size() : SIZE_MAX);
    return copy_to(source, place);
}

void refuse_copy(const char* what, const Layout& layout) {
    const std::string message = std::string(what) + " of shape " +
                                shape_text(layout.shape.data(), layout.shape.size()) + " and strides " +
                                strides_text(layout) + " bytes" + (layout.swapped ? " in the other byte order" : "") +
                                " cannot become a tensor without a copy, and copy is False";
    throw nb::value_error(message.c_str());
}

}  // namespace triton_inprocess
