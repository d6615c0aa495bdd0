#include "bindings/capi/buffer_attributes.h"

#include "bindings/runtime.h"
#include "core/buffer_attributes.h"

namespace nb = nanobind;

namespace triton_inprocess {

void register_buffer_attributes(nb::module_& module) {
    nb::class_<BufferAttributes>(module, "TRITONSERVER_BufferAttributes",
                                 "Where a piece of memory lies and how large it is (TRITONSERVER_BufferAttributes).")
        .def(
            "__init__",
            [](BufferAttributes* self) {
                ensure_runtime();
                new (self) BufferAttributes();
            },
            "Attributes of 0 bytes of CPU memory (TRITONSERVER_BufferAttributesNew).")
        .def_prop_rw("memory_type", &BufferAttributes::memory_type, &BufferAttributes::set_memory_type,
                     "Where the memory lies (TRITONSERVER_BufferAttributesMemoryType, …SetMemoryType).")
        .def_prop_rw("memory_type_id", &BufferAttributes::memory_type_id, &BufferAttributes::set_memory_type_id,
                     "On which device (TRITONSERVER_BufferAttributesMemoryTypeId, …SetMemoryTypeId).")
        .def_prop_rw("byte_size", &BufferAttributes::byte_size, &BufferAttributes::set_byte_size,
                     "Its bytes (TRITONSERVER_BufferAttributesByteSize, …SetByteSize).")
        .def_prop_rw(
            "cuda_ipc_handle",
            [](const BufferAttributes& self) { return reinterpret_cast<std::uintptr_t>(self.cuda_ipc_handle()); },
            [](BufferAttributes& self, std::uintptr_t address) {
                self.set_cuda_ipc_handle(reinterpret_cast<void*>(address));  // NOLINT(performance-no-int-to-ptr)
            },
            "The address of the 64 bytes of a cudaIpcMemHandle_t, which are copied when it is set; 0 when there is "
            "none "
            "(TRITONSERVER_BufferAttributesCudaIpcHandle, …SetCudaIpcHandle).");
}

}  // namespace triton_inprocess
