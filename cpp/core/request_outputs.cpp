#include "core/request_outputs.h"

#include <utility>

#include "core/placement_allocator.h"
#include "runtime/error.h"
#include "tensor/buffer_slice.h"

namespace triton_inprocess {
namespace {

PlacementAllocator create() {
    PlacementAllocator allocator(false);
    allocator.enable_query();
    return allocator;
}

std::string text_of(const Tensor& tensor) {
    return std::string(data_type_name(tensor.data_type())) + " of shape " +
           shape_text(tensor.shape().data(), tensor.shape().size());
}

}  // namespace

RequestOutputs::RequestOutputs(std::map<std::string, Tensor> targets, std::optional<MemoryPlace> place,
                               Ref<MemoryAllocator> allocator)
    : place_(place), allocator_(std::move(allocator)) {
    for (auto& [name, tensor] : targets) {
        targets_.emplace(name, Target{std::move(tensor), false});
    }
}

TRITONSERVER_ResponseAllocator* RequestOutputs::allocator() {
    static const PlacementAllocator allocator = create();
    return allocator.get();
}

Ref<Buffer> RequestOutputs::allocate(const char* name, std::size_t byte_size, Place wanted) {
    const auto found = targets_.find(name);
    if (found == targets_.end()) {
        return allocator_ ? allocated(name, byte_size, wanted) : allocate_at(place_.value_or(MemoryPlace{}), byte_size);
    }
    Target& target = found->second;
    if (target.used) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "output '" + found->first + "' comes a second time, and the memory given for it holds the first");
    }
    const Ref<Buffer>& buffer = target.tensor.buffer();
    if (buffer->byte_size() != byte_size) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "output '" + found->first + "' has " + std::to_string(byte_size) +
                                                        " bytes, but the memory given for it, " +
                                                        text_of(target.tensor) + ", has " +
                                                        std::to_string(buffer->byte_size()));
    }
    target.used = true;
    return buffer;
}

Ref<Buffer> RequestOutputs::allocated(const char* name, std::size_t byte_size, Place wanted) const {
    Ref<Buffer> given =
        allocator_->allocate(name, byte_size, place_.value_or(MemoryPlace{wanted.first, wanted.second}));
    check_given(name, byte_size, *given);
    if (given->byte_size() == byte_size) {
        return given;
    }
    void* const data = given->data();
    return make_ref<BufferSlice>(data, byte_size, std::move(given), false);
}

void RequestOutputs::check_given(const char* name, std::size_t byte_size, const Buffer& given) const {
    const auto refuse = [&](const std::string& what) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the memory allocator gave " + what + " for output '" + std::string(name) + "', which needs " +
                        std::to_string(byte_size) + " bytes" + (place_ ? " of " + place_text(*place_) : ""));
    };
    if (given.memory_type_id() < 0) {
        refuse("memory of the memory_type_id " + std::to_string(given.memory_type_id()));
    }
    if (given.byte_size() < byte_size) {
        refuse(std::to_string(given.byte_size()) + " bytes");
    }
    if (given.read_only()) {
        refuse("read-only memory");
    }
    if (byte_size != 0 && place_ && !is_at(given, *place_)) {
        refuse(place_text(triton_inprocess::place_of(given)));
    }
}

OutputPlacement::Place RequestOutputs::place_of(const std::string& name, Place wanted) const {
    const auto found = targets_.find(name);
    if (found == targets_.end() && allocator_ && !place_) {
        return wanted;
    }
    const MemoryPlace place = found == targets_.end() ? place_.value_or(MemoryPlace{})
                                                      : triton_inprocess::place_of(*found->second.tensor.buffer());
    return {place.memory_type, place.memory_type_id};
}

OutputPlacement::Place RequestOutputs::query(const char* name, const std::size_t* /*byte_size*/, Place wanted) {
    // Triton may ask of an output that it does not name.
    return name != nullptr ? place_of(name, wanted) : wanted;
}

void RequestOutputs::describe(const char* /*name*/, TRITONSERVER_BufferAttributes* /*attributes*/, Buffer& /*buffer*/) {
}

void RequestOutputs::check(InferenceResponse& response) const {
    response.python_memory = allocator_ && allocator_->gives_python_memory();
    if (response.error) {
        return;
    }
    for (const InferenceResponse::Output& output : response.outputs) {
        const auto found = targets_.find(output.name);
        if (found == targets_.end()) {
            continue;
        }
        const Tensor& given = found->second.tensor;
        if (output.tensor.data_type() != given.data_type() || output.tensor.shape() != given.shape()) {
            response.error.emplace(TRITONSERVER_ERROR_INVALID_ARG,
                                   "output '" + output.name + "' is " + text_of(output.tensor) +
                                       ", but the memory given for it is " + text_of(given));
            return;
        }
    }
    for (const auto& [name, target] : targets_) {
        if (response.final && !target.used) {
            response.error.emplace(TRITONSERVER_ERROR_INVALID_ARG,
                                   "the model has not sent output '" + name + "', for which memory was given");
        }
    }
}

}  // namespace triton_inprocess
