#include "core/request_outputs.h"

#include <utility>

#include "core/placement_allocator.h"
#include "runtime/error.h"

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

RequestOutputs::RequestOutputs(std::map<std::string, Tensor> targets, MemoryPlace place) : place_(place) {
    for (auto& [name, tensor] : targets) {
        targets_.emplace(name, Target{std::move(tensor), false});
    }
}

TRITONSERVER_ResponseAllocator* RequestOutputs::allocator() {
    static const PlacementAllocator allocator = create();
    return allocator.get();
}

Ref<Buffer> RequestOutputs::allocate(const char* name, std::size_t byte_size, Place /*wanted*/) {
    const auto found = targets_.find(name);
    if (found == targets_.end()) {
        return allocate_at(place_, byte_size);
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

MemoryPlace RequestOutputs::place_of(const std::string& name) const {
    const auto found = targets_.find(name);
    return found == targets_.end() ? place_ : triton_inprocess::place_of(*found->second.tensor.buffer());
}

OutputPlacement::Place RequestOutputs::query(const char* name, const std::size_t* /*byte_size*/, Place wanted) {
    // Triton may ask of an output that it does not name.
    const MemoryPlace place = name != nullptr ? place_of(name) : MemoryPlace{wanted.first, wanted.second};
    return {place.memory_type, place.memory_type_id};
}

void RequestOutputs::describe(const char* /*name*/, TRITONSERVER_BufferAttributes* /*attributes*/, Buffer& /*buffer*/) {
}

void RequestOutputs::check(InferenceResponse& response) const {
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
