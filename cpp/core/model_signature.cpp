#include "core/model_signature.h"

#include <algorithm>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

bool fits(const std::vector<std::int64_t>& declared, const std::vector<std::int64_t>& given) {
    return std::equal(declared.begin(), declared.end(), given.begin(), given.end(),
                      [](std::int64_t wanted, std::int64_t size) { return wanted == -1 || wanted == size; });
}

std::string text_of_shape(const std::vector<std::int64_t>& shape) {
    return shape_text(shape.data(), shape.size());
}

const ModelSignature::Entry* find(const std::vector<ModelSignature::Entry>& entries, const std::string& name) noexcept {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.name == name; });
    return found == entries.end() ? nullptr : &*found;
}

std::string text_of(const ModelSignature::Entry& entry) {
    return "'" + entry.name + "' (" + data_type_name(entry.data_type) + ", " + text_of_shape(entry.shape) + ")";
}

std::string list_of(const std::vector<ModelSignature::Entry>& entries) {
    std::string list;
    for (const auto& entry : entries) {
        list += (list.empty() ? "" : ", ") + text_of(entry);
    }
    return list.empty() ? "none" : list;
}

[[noreturn]] void refuse(const std::string& message) {
    throw Error(TRITONSERVER_ERROR_INVALID_ARG, message);
}

}  // namespace

ModelSignature::ModelSignature(std::string model, std::int64_t max_batch_size, std::vector<Entry> inputs,
                               std::vector<Entry> outputs)
    : model_(std::move(model)),
      max_batch_size_(max_batch_size),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)) {}

const ModelSignature::Entry* ModelSignature::find_input(const std::string& name) const noexcept {
    return find(inputs_, name);
}

void ModelSignature::check_inputs(const Tensors& tensors) const {
    for (const auto& [name, tensor] : tensors) {
        const Entry* const input = find(inputs_, name);
        if (input == nullptr) {
            refuse("model '" + model_ + "' has no input '" + name + "': it takes " + list_of(inputs_));
        }
        check_type(*input, tensor);
        check_shape(*input, tensor);
    }
    for (const Entry& input : inputs_) {
        const bool given =
            std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.first == input.name; });
        if (!given && !input.optional) {
            refuse(name_of(input) + " is missing: it takes " + text_of(input));
        }
    }
}

void ModelSignature::check_targets(const Tensors& tensors) const {
    for (const auto& [name, tensor] : tensors) {
        const Entry* const output = find(outputs_, name);
        if (output == nullptr) {
            refuse("model '" + model_ + "' has no output '" + name + "': it gives " + list_of(outputs_));
        }
        check_target(*output, tensor);
    }
}

void ModelSignature::check_target(const Entry& output, const Tensor& tensor) const {
    const std::string name = "output '" + output.name + "' of model '" + model_ + "'";
    if (output.data_type == TRITONSERVER_TYPE_BYTES) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    name + " is of BYTES, whose size nobody knows beforehand: no memory can be given for it");
    }
    if (tensor.data_type() != output.data_type || !(output.any_shape || fits(output.shape, tensor.shape()))) {
        refuse(name + " is " + data_type_name(output.data_type) + " of shape " + text_of_shape(output.shape) +
               ", but the memory given for it is " + data_type_name(tensor.data_type()) + " of shape " +
               text_of_shape(tensor.shape()));
    }
}

void ModelSignature::check_type(const Entry& input, const Tensor& tensor) const {
    if (tensor.data_type() != input.data_type) {
        refuse(name_of(input) + " takes " + data_type_name(input.data_type) + ", not " +
               data_type_name(tensor.data_type()) + ": Tensor.from_any(value, '" + data_type_name(input.data_type) +
               "') converts what fits");
    }
}

void ModelSignature::check_shape(const Entry& input, const Tensor& tensor) const {
    if (input.any_shape) {
        return;
    }
    const std::vector<std::int64_t>& given = tensor.shape();
    if (!fits(input.shape, given)) {
        const char* const batch = max_batch_size_ > 0 ? ", of which the first dimension is the batch" : "";
        refuse(name_of(input) + " takes the shape " + text_of_shape(input.shape) + batch + ", not " +
               text_of_shape(given));
    }
    // Triton cuts the dimension to 32 bits before it compares them.
    if (max_batch_size_ > 0 && given[0] > max_batch_size_) {
        refuse(name_of(input) + " has a batch of " + std::to_string(given[0]) + ", but max_batch_size is " +
               std::to_string(max_batch_size_));
    }
}

std::string ModelSignature::name_of(const Entry& input) const {
    return "input '" + input.name + "' of model '" + model_ + "'";
}

}  // namespace triton_inprocess
