#include "core/class_labels.h"

#include "runtime/error.h"
#include "runtime/function_table.h"

namespace triton_inprocess {
namespace {

std::string read_label(TRITONSERVER_InferenceResponse* response, std::uint32_t output, std::size_t index) {
    const char* label = nullptr;
    check(api().TRITONSERVER_InferenceResponseOutputClassificationLabel(response, output, index, &label));
    return label != nullptr ? label : "";
}

// Nobody says how many there are. An output without labels is told by its first classes; where there are some, there
// can be one for each element, and no longer row of classes without one than this beyond.
ClassLabels::Labels read_labels(TRITONSERVER_InferenceResponse* response, std::uint32_t output,
                                std::size_t element_count) {
    constexpr std::size_t enough_to_tell = 16;
    std::vector<std::string> labels;
    std::size_t end = 0;
    for (std::size_t i = 0; i < end + enough_to_tell || (end != 0 && i < element_count); ++i) {
        labels.push_back(read_label(response, output, i));
        if (!labels.back().empty()) {
            end = i + 1;
        }
    }
    labels.resize(end);
    return end != 0 ? std::make_shared<const std::vector<std::string>>(std::move(labels)) : nullptr;
}

}  // namespace

ClassLabels::Labels ClassLabels::of_output(TRITONSERVER_InferenceResponse* response, std::uint32_t index,
                                           const char* name, std::int64_t model_version, std::size_t element_count) {
    const std::scoped_lock guard(mutex_);
    const auto key = std::pair(std::string(name), model_version);
    const auto found = known_.find(key);
    if (found != known_.end()) {
        return found->second;
    }
    Labels labels = read_labels(response, index, element_count);
    known_.emplace(key, labels);
    return labels;
}

}  // namespace triton_inprocess
