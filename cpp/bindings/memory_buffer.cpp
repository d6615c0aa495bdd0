#include "bindings/memory_buffer.h"

#include <optional>
#include <utility>

#include "bindings/dlpack_import.h"
#include "bindings/garbage_collection.h"
#include "bindings/python_buffer.h"
#include "runtime/error.h"
#include "tensor/host_buffer_pool.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

void make(MemoryBuffer* self, std::uintptr_t data_ptr, MemoryType memory_type, std::int64_t memory_type_id,
          std::size_t size, const nb::object& owner) {
    if (data_ptr == 0 && size != 0) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "data_ptr is 0, but size is not");
    }
    new (self) MemoryBuffer{
        make_ref<PythonBuffer>(reinterpret_cast<void*>(data_ptr), size, memory_type, memory_type_id, false, owner)};
}

}  // namespace

nb::handle MemoryBuffer::owner() const noexcept {
    const auto* const python = dynamic_cast<const PythonBuffer*>(buffer.get());
    return python != nullptr ? python->owner() : nb::handle();
}

std::array<PyObject*, 1> MemoryBuffer::held() const noexcept {
    // What others use, too, is not only this object's to let go.
    return {buffer->unique() ? owner().ptr() : nullptr};
}

void MemoryBuffer::let_go() noexcept {
    const Ref<Buffer> gone = std::exchange(buffer, HostBufferPool::instance().allocate(0));
}

void register_memory_buffer(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<MemoryBuffer>(
        module, "MemoryBuffer", nb::type_slots(garbage_collection_slots<MemoryBuffer>()),
        "A block of memory that a tensor is a view of.\n\n"
        "`data_ptr` is its address, `size` its length in bytes; `owner` is kept alive for as long as "
        "anything uses the memory.")
        .def("__init__", &make, "data_ptr"_a, "memory_type"_a, "memory_type_id"_a, "size"_a, "owner"_a.none())
        .def_static(
            "from_dlpack", [](nb::handle object) { return MemoryBuffer{import_dlpack(object, std::nullopt).buffer()}; },
            "object"_a, nb::sig("def from_dlpack(object: typing.Any) -> MemoryBuffer"),
            "The memory of an object that speaks DLPack, or of a DLPack capsule: see Tensor.from_dlpack.")
        .def_prop_ro(
            "owner",
            [](const MemoryBuffer& self) {
                return self.owner().is_valid() ? nb::borrow(self.owner()) : nb::object(nb::none());
            },
            nb::sig("def owner(self) -> typing.Any"), "The object that was given as owner of the memory, or None.")
        .def_prop_ro("data_ptr",
                     [](const MemoryBuffer& self) { return reinterpret_cast<std::uintptr_t>(self.buffer->data()); })
        .def_prop_ro("memory_type", [](const MemoryBuffer& self) { return self.buffer->memory_type(); })
        .def_prop_ro("memory_type_id", [](const MemoryBuffer& self) { return self.buffer->memory_type_id(); })
        .def_prop_ro("size", [](const MemoryBuffer& self) { return self.buffer->byte_size(); });
}

}  // namespace triton_inprocess
