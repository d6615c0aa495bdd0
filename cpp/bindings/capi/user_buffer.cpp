#include "bindings/capi/user_buffer.h"

#include "bindings/callback.h"

namespace nb = nanobind;

namespace triton_inprocess {

UserBuffer::UserBuffer(void* data, std::size_t byte_size, MemoryType memory_type, std::int64_t memory_type_id,
                       nb::object allocator, nb::object release, nb::object user_object)
    : Buffer(data, byte_size, memory_type, memory_type_id, false),
      allocator_(allocator.release().ptr()),
      release_(release.release().ptr()),
      user_object_(user_object.release().ptr()) {}

UserBuffer::~UserBuffer() {
    const CallbackGil gil;
    // An exception that is being raised while the response goes is not the release's affair.
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    call_back_and_report(release_, nb::handle(allocator_), reinterpret_cast<std::uintptr_t>(data()),
                         nb::handle(user_object_), byte_size(), memory_type(), memory_type_id());
    for (PyObject* const object : held()) {
        drop_on_native_thread(object);
    }
    PyErr_Restore(type, value, traceback);
}

}  // namespace triton_inprocess
