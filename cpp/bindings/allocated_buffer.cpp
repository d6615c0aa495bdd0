#include "bindings/allocated_buffer.h"

#include <atomic>
#include <cstddef>

#include "bindings/callback.h"
#include "bindings/gil.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::atomic<std::size_t> alive{0};

}  // namespace

bool AllocatedBuffer::any() noexcept {
    return alive.load() != 0;
}

AllocatedBuffer::AllocatedBuffer(const Buffer& buffer, nb::object memory, nb::object allocator)
    : Buffer(buffer.data(), buffer.byte_size(), buffer.memory_type(), buffer.memory_type_id(), buffer.read_only()),
      memory_(memory.release().ptr()),
      allocator_(allocator.release().ptr()) {
    alive.fetch_add(1);
}

AllocatedBuffer::~AllocatedBuffer() {
    alive.fetch_sub(1);
    if (allocator_ == nullptr) {
        let_go(memory_);
        return;
    }
    const CallbackGil gil;
    // An exception that is being raised while the tensor goes is not the allocator's affair.
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    const NativeThreadObject free(attribute_on_native_thread(allocator_, "free"));
    if (free.get() != nullptr) {
        call_back_and_report(free.get(), nb::handle(memory_));
    } else {
        report_on_native_thread(allocator_);
    }
    for (PyObject* const object : held()) {
        drop_on_native_thread(object);
    }
    PyErr_Restore(type, value, traceback);
}

}  // namespace triton_inprocess
