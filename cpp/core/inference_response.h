// One response of a model: everything that Triton said, with the C response already deleted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/class_labels.h"
#include "runtime/error.h"
#include "tensor/tensor.h"

namespace triton_inprocess {

struct InferenceResponse {
    struct Output {
        std::string name;
        Tensor tensor;
        ClassLabels::Labels labels;  ///< Only if they were asked for; null if there are none.
    };
    struct Parameter {
        std::string name;
        std::variant<std::string, std::int64_t, bool, double> value;
    };

    /// Reads the C response (null: an empty response that only carries flags) and deletes it. A response that cannot
    /// be read becomes one with that error: whoever waits for it must hear of it. With `labels`, which may be null,
    /// those of the outputs, too.
    static std::unique_ptr<InferenceResponse> take(TRITONSERVER_InferenceResponse* response, std::uint32_t flags,
                                                   ClassLabels* labels = nullptr) noexcept;

    /// The same response again; its tensors share their memory with this one's.
    std::unique_ptr<InferenceResponse> copy() const;

    std::string model_name;
    std::int64_t model_version = -1;
    std::string request_id;
    std::vector<Parameter> parameters;
    std::vector<Output> outputs;
    std::optional<Error> error;
    bool final = false;
    bool empty = true;           ///< No C response came: there are only flags.
    bool python_memory = false;  ///< A user's allocator in Python gave the memory of outputs.

    /// The response that arrived after this one; used by ResponseQueue alone.
    std::unique_ptr<InferenceResponse> next;
};

}  // namespace triton_inprocess
