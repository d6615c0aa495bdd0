// The labels that a model's configuration gives its classes (label_filename).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "abi/types.h"
#include "tensor/ref_counted.h"

namespace triton_inprocess {

/// Triton tells them of a response only, and one by one: they are read from the first one that has the output.
class ClassLabels final : public RefCounted {
  public:
    /// By class; null if there are none.
    using Labels = std::shared_ptr<const std::vector<std::string>>;

    /// Those of an output, of which the response has so many elements. Throws what the C API says.
    Labels of_output(TRITONSERVER_InferenceResponse* response, std::uint32_t index, const char* name,
                     std::int64_t model_version, std::size_t element_count);

  private:
    std::mutex mutex_;
    std::map<std::pair<std::string, std::int64_t>, Labels> known_;
};

}  // namespace triton_inprocess
