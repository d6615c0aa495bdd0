#include "bindings/request_outputs.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "bindings/arguments.h"
#include "bindings/array_view.h"
#include "bindings/conversion.h"
#include "bindings/device.h"
#include "bindings/gil.h"
#include "bindings/memory_allocator.h"
#include "bindings/numpy_abi.h"
#include "bindings/retold.h"
#include "runtime/error.h"
#include "tensor/buffer_slice.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

bool is_writable(nb::handle value, const Tensor& tensor) {
    if (view_of_array(value)) {
        // The tensor is read-only as what goes into a model is; whether the array is, is the question here.
        return is_writable_array(value);
    }
    if (nb::hasattr(value, "__cuda_array_interface__") && !nb::isinstance<Tensor>(value)) {
        const nb::dict interface(value.attr("__cuda_array_interface__"));
        return !nb::cast<bool>(nb::object(interface["data"])[1]);
    }
    // DLPack does not always say it: what it gives is taken for read-only.
    return !tensor.buffer()->read_only();
}

/// The tensor over the user's memory, to be written to.
Tensor target_of(const std::string& name, nb::handle value) {
    const Tensor tensor =
        retold([&] { return "output '" + name + "': "; }, [&] { return from_any(value, std::nullopt, false); });
    if (!is_writable(value, tensor)) {
        throw nb::value_error(
            ("output '" + name + "': the memory is read-only, and the output is to be written to it").c_str());
    }
    const Ref<Buffer>& whole = tensor.buffer();
    return Tensor(tensor.data_type(), tensor.shape(),
                  make_ref<BufferSlice>(whole->data(), whole->byte_size(), whole, false));
}

ModelSignature::Tensors targets_of(nb::handle outputs) {
    ModelSignature::Tensors targets;
    if (PyDict_Check(outputs.ptr()) == 0) {
        wrong_type("outputs", "a dict of output name to an array or a Tensor", outputs);
    }
    for (const auto [key, value] : nb::borrow<nb::dict>(outputs)) {
        std::string name = text_argument("the name of an output", key);
        const nb::object kept = nb::borrow(value);  // its conversion may run code that changes the dict
        Tensor tensor = target_of(name, kept);
        targets.emplace_back(std::move(name), std::move(tensor));
    }
    return targets;
}

MemoryPlace checked_place(nb::handle value) {
    return retold([] { return std::string("output_memory_type: "); },
                  [&] {
                      const MemoryPlace place = place_argument(value);
                      const ReleaseGil guard;
                      allocate_at(place, 0);  // throws where there is no such memory
                      return place;
                  });
}

bool is_given(nb::handle value) {
    return value.is_valid() && !value.is_none();
}

}  // namespace

Ref<RequestOutputs> checked_outputs(const OutputFields& fields, ModelHandle& model) {
    const bool targets_given = is_given(fields.outputs);
    const std::optional<MemoryPlace> others =
        is_given(fields.place) ? std::make_optional(checked_place(fields.place)) : std::nullopt;
    Ref<MemoryAllocator> allocator = is_given(fields.allocator) ? memory_allocator(fields.allocator) : nullptr;
    if (!targets_given && !allocator && others.value_or(MemoryPlace{}).memory_type == TRITONSERVER_MEMORY_CPU) {
        return nullptr;
    }
    ModelSignature::Tensors targets;
    if (targets_given) {
        targets = targets_of(fields.outputs);
        try {
            model.signature()->check_targets(targets);
        } catch (const Error&) {
            model.read_signature()->check_targets(targets);  // as in checked_inputs
        }
    }
    return make_ref<RequestOutputs>(std::map<std::string, Tensor>(targets.begin(), targets.end()), others,
                                    std::move(allocator));
}

}  // namespace triton_inprocess
