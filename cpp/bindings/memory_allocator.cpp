#include "bindings/memory_allocator.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "bindings/allocated_buffer.h"
#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
#include "bindings/callback.h"
#include "bindings/errors.h"
#include "bindings/garbage_collection.h"
#include "bindings/gil.h"
#include "bindings/memory_buffer.h"
#include "bindings/python_buffer.h"
#include "core/native_memory_allocator.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute allocator_class("triton_inprocess.memory_allocator", "MemoryAllocator");
CachedAttribute frees("triton_inprocess.memory_allocator", "frees");

/// Asks a MemoryAllocator's `allocate` for each output of a request.
class PythonMemoryAllocator final : public MemoryAllocator {
  public:
    PythonMemoryAllocator(nb::object allocator, bool frees_memory)
        : allocator_(allocator.release().ptr()), frees_memory_(frees_memory) {}
    ~PythonMemoryAllocator() override { let_go(allocator_); }

    Ref<Buffer> allocate(const char* name, std::size_t byte_size, const MemoryPlace& wanted) override {
        const CallbackGil gil;
        const NativeThreadObject function(attribute_on_native_thread(allocator_, "allocate"));
        if (function.get() == nullptr) {
            throw take_function_error();
        }
        HeldObject memory = call_back(function.get(), byte_size, wanted.memory_type, wanted.memory_type_id, name);
        if (!memory.is_valid()) {
            throw take_function_error();
        }
        if (!nb::isinstance<MemoryBuffer>(memory) || !nb::inst_ready(memory)) {
            throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                        "the memory allocator's allocate must return a MemoryBuffer for "
                        "output '" +
                            std::string(name) + "', not " + class_name(memory));
        }
        // The buffer is the object's own, which is kept.
        const Buffer& buffer = *nb::inst_ptr<MemoryBuffer>(memory)->buffer;
        return make_ref<AllocatedBuffer>(buffer, std::move(memory),
                                         frees_memory_ ? nb::borrow(allocator_) : nb::object());
    }

    bool gives_python_memory() const noexcept override { return true; }

  private:
    PyObject* const allocator_;
    const bool frees_memory_;
};

/// A NativeMemoryAllocator as Python has it.
struct BoundAllocator {
    Ref<NativeMemoryAllocator> allocator;

    std::array<PyObject*, 1> held() const noexcept {
        // What memory that lives uses, too, is not only this object's to let go.
        const bool own = allocator && allocator->unique();
        return {own ? static_cast<const PythonBuffer&>(*allocator->owner()).owner().ptr() : nullptr};
    }
    void let_go() noexcept { allocator = nullptr; }
};

template <typename Function>
Function function_argument(const char* argument, nb::handle value) {
    const std::uint64_t address = unsigned_argument(argument, value, UINTPTR_MAX);
    if (address == 0) {
        throw nb::value_error((std::string(argument) + " must be the address of a C function, not 0").c_str());
    }
    return reinterpret_cast<Function>(address);  // NOLINT(performance-no-int-to-ptr)
}

void make(BoundAllocator* self, nb::handle allocate, nb::handle free, nb::handle user_data, const nb::object& owner) {
    auto* const allocate_function =
        function_argument<NativeMemoryAllocator::AllocateFunction>("allocate_function", allocate);
    auto* const free_function = function_argument<NativeMemoryAllocator::FreeFunction>("free_function", free);
    const std::uint64_t address = unsigned_argument("user_data", user_data, UINTPTR_MAX);
    void* const user = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    Ref<Buffer> kept = make_ref<PythonBuffer>(nullptr, 0, TRITONSERVER_MEMORY_CPU, 0, true, owner);
    new (self) BoundAllocator{make_ref<NativeMemoryAllocator>(allocate_function, free_function, user, std::move(kept))};
}

}  // namespace

Ref<MemoryAllocator> memory_allocator(nb::handle value) {
    if (nb::isinstance<BoundAllocator>(value)) {
        auto& bound = instance_argument<BoundAllocator>("output_memory_allocator", "a NativeMemoryAllocator", value);
        if (!bound.allocator) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "output_memory_allocator: the garbage collector has taken it");
        }
        return bound.allocator;
    }
    const int is_one = PyObject_IsInstance(value.ptr(), allocator_class.get().ptr());
    if (is_one < 0) {
        throw nb::python_error();
    }
    if (is_one == 0) {
        wrong_type("output_memory_allocator", "a MemoryAllocator, a NativeMemoryAllocator or None", value);
    }
    return make_ref<PythonMemoryAllocator>(nb::borrow(value), nb::cast<bool>(frees.get()(value)));
}

void register_memory_allocator(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<BoundAllocator>(
        module, "NativeMemoryAllocator", nb::type_slots(garbage_collection_slots<BoundAllocator>()),
        "Gives the memory for outputs by two C functions, which are called on Triton's threads, several at once, "
        "without Python's lock.")
        .def("__init__", &make, "allocate_function"_a.none(), "free_function"_a.none(), "user_data"_a.none() = 0,
             "owner"_a.none() = nb::none(),
             nb::sig("def __init__(self, allocate_function: int, free_function: int, user_data: int = 0, owner: "
                     "typing.Any = None) -> None"),
             "An allocator of the functions at two addresses.\n\n"
             "Args:\n"
             "    allocate_function: Address of `void* allocate(void* user_data, const char* output_name, uint64_t "
             "byte_size, int32_t* memory_type, int64_t* memory_type_id)`. The last two are where the memory is wanted "
             "(a MemoryType and the number of a device), and where it is when the function returns. Null: there is "
             "none, and the request fails with UnavailableError. It is not called for 0 bytes.\n"
             "    free_function: Address of `void free(void* user_data, void* data, uint64_t byte_size, int32_t "
             "memory_type, int64_t memory_type_id)`, called once for all that the other one returned, on any thread, "
             "when neither Triton nor a tensor uses it any more.\n"
             "    user_data: An address that the functions are called with.\n"
             "    owner: An object that is kept for as long as one of the functions may be called, such as their "
             "library.\n\n"
             "Raises TypeError and ValueError for what is no address of a function.");
}

}  // namespace triton_inprocess
