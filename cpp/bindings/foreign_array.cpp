#include "bindings/foreign_array.h"

#include <utility>

#include "bindings/copies.h"
#include "bindings/gil.h"
#include "bindings/python_buffer.h"
#include "tensor/cuda_stream.h"
#include "tensor/device_gather.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

Ref<Buffer> gathered_at(const Layout& layout, const void* source, const MemoryPlace& place) {
    if (place.memory_type != TRITONSERVER_MEMORY_GPU) {
        return gathered(layout, source);
    }
    const ReleaseGil released;
    return gather_on_device(layout, source, place.memory_type_id);
}

}  // namespace

Tensor import_foreign_array(const ForeignArray& array, std::optional<bool> copy, const nb::object& owner) {
    const std::size_t byte_size = array.layout.byte_size();
    const bool plain = array.layout.plain();
    if (!plain && !copy.value_or(true)) {
        refuse_copy(array.what, array.layout);
    }
    if (array.stream != nullptr && byte_size != 0) {
        const ReleaseGil released;
        wait_for_stream(CudaDevice::get(array.stream_device), array.stream);
    }
    if (!plain) {
        return Tensor(array.data_type, array.layout.shape, gathered_at(array.layout, array.data, array.place));
    }
    // Read-only, as all that is a caller's.
    Ref<Buffer> memory =
        make_ref<PythonBuffer>(array.data, byte_size, array.place.memory_type, array.place.memory_type_id, true, owner);
    return Tensor(array.data_type, array.layout.shape, copy.value_or(false) ? copied(*memory) : std::move(memory));
}

}  // namespace triton_inprocess
