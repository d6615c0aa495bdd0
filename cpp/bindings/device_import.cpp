#include "bindings/device_import.h"

#include <utility>

#include "bindings/copies.h"
#include "bindings/gil.h"
#include "bindings/python_buffer.h"
#include "tensor/cuda_stream.h"
#include "tensor/device_gather.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {

Tensor import_device_array(const DeviceArray& array, std::optional<bool> copy, const nb::object& owner) {
    const std::size_t byte_size = array.layout.byte_size();
    const bool plain = array.layout.plain();
    if (!plain && !copy.value_or(true)) {
        refuse_copy(array.what, array.layout);
    }
    // Read-only, as all that is a caller's.
    const Ref<Buffer> own =
        make_ref<PythonBuffer>(array.data, byte_size, array.place.memory_type, array.place.memory_type_id, true, owner);
    Ref<Buffer> result = own;
    {
        const ReleaseGil released;
        if (array.stream != nullptr && byte_size != 0) {
            wait_for_stream(CudaDevice::get(array.stream_device), array.stream);
        }
        if (!plain && array.place.memory_type == TRITONSERVER_MEMORY_GPU) {
            result = gather_on_device(array.layout, array.data, array.place.memory_type_id);
        } else if (!plain) {
            result = HostBufferPool::instance().allocate(byte_size);
            array.layout.gather(array.data, result->data());
        } else if (copy.value_or(false)) {
            result = copy_to(*own, copy_place(*own));
        }
    }
    return Tensor(array.data_type, array.layout.shape, std::move(result));
}

}  // namespace triton_inprocess
