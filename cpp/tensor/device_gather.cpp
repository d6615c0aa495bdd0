#include "tensor/device_gather.h"

#include <string>

#include "runtime/error.h"
#include "tensor/cuda_stream.h"
#include "tensor/data_type.h"
#include "tensor/host_buffer_pool.h"
#include "tensor/transfer.h"

namespace triton_inprocess {
namespace {

/// The bytes from the first element in memory to the end of the last; both relative to the one with indices 0.
struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

Span span_of(const Layout& layout) {
    Span span{0, static_cast<std::int64_t>(layout.element_size)};
    for (std::size_t i = 0; i < layout.shape.size(); ++i) {
        std::int64_t reach = 0;
        std::int64_t& side = layout.strides[i] < 0 ? span.begin : span.end;
        if (__builtin_mul_overflow(layout.shape[i] - 1, layout.strides[i], &reach) ||
            __builtin_add_overflow(side, reach, &side)) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG, "no memory reaches as far as shape " +
                                                            shape_text(layout.shape.data(), layout.shape.size()) +
                                                            " with strides " + strides_text(layout));
        }
    }
    return span;
}

}  // namespace

Ref<Buffer> gather_on_device(const Layout& layout, const void* source, std::int64_t device) {
    const std::size_t byte_size = layout.byte_size();
    const Ref<Buffer> ordered = HostBufferPool::instance().allocate(byte_size);
    if (byte_size != 0) {
        const Span span = span_of(layout);
        const auto spanned = static_cast<std::size_t>(span.end) - static_cast<std::size_t>(span.begin);
        const Ref<Buffer> raw = HostBufferPool::instance().allocate(spanned);
        {
            CudaStream stream(CudaDevice::get(device));
            stream.copy(raw->data(), static_cast<const char*>(source) + span.begin, spanned);
            stream.synchronize();
        }
        layout.gather(static_cast<const char*>(raw->data()) - span.begin, ordered->data());
    }
    return copy_to(*ordered, {TRITONSERVER_MEMORY_GPU, device});
}

}  // namespace triton_inprocess
