#include "bindings/allocated_tensor.h"

#include <utility>

#include "bindings/allocated_buffer.h"
#include "bindings/garbage_collection.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {

void add_held(const Buffer& buffer, std::vector<PyObject*>& objects) {
    const Buffer& root = buffer.root();
    const auto* const allocated = dynamic_cast<const AllocatedBuffer*>(&root);
    if (allocated != nullptr && buffer.unique() && root.unique()) {
        const auto held = allocated->held();
        objects.insert(objects.end(), held.begin(), held.end());
    }
}

Tensor without_memory() {
    return Tensor(TRITONSERVER_TYPE_UINT8, {0}, HostBufferPool::instance().allocate(0));
}

std::vector<PyObject*> AllocatedTensor::held() const {
    std::vector<PyObject*> objects;
    add_held(*buffer(), objects);
    return objects;
}

void AllocatedTensor::let_go() noexcept {
    // Emptied first: the allocator's `free` may look at the tensor.
    const Tensor gone = std::exchange(static_cast<Tensor&>(*this), without_memory());
}

nb::object make_allocated_tensor(const Tensor& tensor) {
    return nb::cast(AllocatedTensor(tensor));
}

void register_allocated_tensor(nb::module_& module) {
    nb::class_<AllocatedTensor, Tensor>(module, "AllocatedTensor",
                                        nb::type_slots(finalized_garbage_collection_slots<AllocatedTensor>()),
                                        "A Tensor in memory that a MemoryAllocator gave.");
}

}  // namespace triton_inprocess
