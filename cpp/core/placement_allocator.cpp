#include "core/placement_allocator.h"

#include <exception>

#include "core/output_placement.h"
#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

/// Calls the function; what it throws is returned as a C error.
template <typename Function>
TRITONSERVER_Error* guarded(Function function) noexcept {
    try {
        function();
        return nullptr;
    } catch (const Error& error) {
        return error.to_c();
    } catch (const std::exception& error) {
        return Error(TRITONSERVER_ERROR_INTERNAL, error.what()).to_c();
    }
}

OutputPlacement& placement(void* user) noexcept {
    return *static_cast<OutputPlacement*>(user);
}

TRITONSERVER_Error* start(TRITONSERVER_ResponseAllocator* /*allocator*/, void* user) {
    return guarded([&] { placement(user).start(); });
}

TRITONSERVER_Error* allocate(TRITONSERVER_ResponseAllocator* /*allocator*/, const char* tensor_name,
                             std::size_t byte_size, TRITONSERVER_MemoryType memory_type, std::int64_t memory_type_id,
                             void* user, void** buffer, void** buffer_user, TRITONSERVER_MemoryType* actual_memory_type,
                             std::int64_t* actual_memory_type_id) {
    return guarded([&] {
        Ref<Buffer> block = placement(user).allocate(tensor_name, byte_size, {memory_type, memory_type_id});
        // Triton releases only what has an address; that of nothing may be anything. The Buffer knows the true one.
        *buffer = block->data() != nullptr ? block->data() : block.get();
        *actual_memory_type = block->memory_type();
        *actual_memory_type_id = block->memory_type_id();
        *buffer_user = block.detach();
    });
}

TRITONSERVER_Error* release(TRITONSERVER_ResponseAllocator* /*allocator*/, void* /*buffer*/, void* buffer_user,
                            std::size_t /*byte_size*/, TRITONSERVER_MemoryType /*memory_type*/,
                            std::int64_t /*memory_type_id*/) {
    Ref<Buffer>::adopt(static_cast<Buffer*>(buffer_user));
    return nullptr;
}

TRITONSERVER_Error* query(TRITONSERVER_ResponseAllocator* /*allocator*/, void* user, const char* tensor_name,
                          std::size_t* byte_size, TRITONSERVER_MemoryType* memory_type, std::int64_t* memory_type_id) {
    return guarded([&] {
        const auto [type, id] = placement(user).query(tensor_name, byte_size, {*memory_type, *memory_type_id});
        *memory_type = type;
        *memory_type_id = id;
    });
}

TRITONSERVER_Error* describe(TRITONSERVER_ResponseAllocator* /*allocator*/, const char* tensor_name,
                             TRITONSERVER_BufferAttributes* attributes, void* user, void* buffer_user) {
    auto* const buffer = static_cast<Buffer*>(buffer_user);
    TRITONSERVER_Error* const error = guarded([&] { placement(user).describe(tensor_name, attributes, *buffer); });
    if (error != nullptr) {
        Ref<Buffer>::adopt(buffer);  // which Triton forgets then
    }
    return error;
}

}  // namespace

void PlacementAllocator::Delete::operator()(TRITONSERVER_ResponseAllocator* allocator) const noexcept {
    ignore(api().TRITONSERVER_ResponseAllocatorDelete(allocator));
}

PlacementAllocator::PlacementAllocator(bool with_start) {
    TRITONSERVER_ResponseAllocator* allocator = nullptr;
    check(api().TRITONSERVER_ResponseAllocatorNew(&allocator, allocate, release, with_start ? start : nullptr));
    allocator_.reset(allocator);
}

void PlacementAllocator::enable_query() {
    check(api().TRITONSERVER_ResponseAllocatorSetQueryFunction(get(), query));
}

void PlacementAllocator::enable_buffer_attributes() {
    check(api().TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(get(), describe));
}

}  // namespace triton_inprocess
