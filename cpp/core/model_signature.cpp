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

[[noreturn]] void refuse(const std::string& message) {
    throw Error(TRITONSERVER_ERROR_INVALID_ARG, message);
}

}  // namespace

ModelSignature::ModelSignature(std::string model, std::int64_t max_batch_size, std::vector<Input> inputs)
    : model_(std::move(model)), max_batch_size_(max_batch_size), inputs_(std::move(inputs)) {}

const ModelSignature::Input* ModelSignature::find(const std::string& name) const noexcept {
    const auto found =
        std::find_if(inputs_.begin(), inputs_.end(), [&](const Input& input) { return input.name == name; });
    return found == inputs_.end() ? nullptr : &*found;
}

void ModelSignature::check(const Tensors& tensors) const {
    for (const auto& [name, tensor] : tensors) {
        const Input* const input = find(name);
        if (input == nullptr) {
            std::string known;
            for (const Input& each : inputs_) {
                known += (known.empty() ? "" : ", ") + text_of(each);
            }
            refuse("model '" + model_ + "' has no input '" + name + "': it takes " + (known.empty() ? "none" : known));
        }
        check_type(*input, tensor);
        check_shape(*input, tensor);
    }
    for (const Input& input : inputs_) {
        const bool given =
            std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.first == input.name; });
        if (!given && !input.optional) {
            refuse(name_of(input) + " is missing: it takes " + text_of(input));
        }
    }
}

void ModelSignature::check_type(const Input& input, const Tensor& tensor) const {
    if (tensor.data_type() != input.data_type) {
        refuse(name_of(input) + " takes " + data_type_name(input.data_type) + ", not " +
               data_type_name(tensor.data_type()) + ": Tensor.from_any(value, '" + data_type_name(input.data_type) +
               "') converts what fits");
    }
}

void ModelSignature::check_shape(const Input& input, const Tensor& tensor) const {
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

std::string ModelSignature::name_of(const Input& input) const {
    return "input '" + input.name + "' of model '" + model_ + "'";
}

std::string ModelSignature::text_of(const Input& input) const {
    return "'" + input.name + "' (" + data_type_name(input.data_type) + ", " + text_of_shape(input.shape) + ")";
}

}  // namespace triton_inprocess
