// The user's own metrics of one name: their kind and what they mean.
#pragma once

#include <memory>
#include <string>

#include "abi/types.h"

namespace triton_inprocess {

class MetricFamily {
  public:
    MetricFamily(TRITONSERVER_MetricKind kind, const std::string& name, const std::string& description);

    /// Throws UNSUPPORTED before C API 1.34.
    TRITONSERVER_MetricKind kind() const;

    /// The C family lives as long as this object and every metric of it.
    const std::shared_ptr<TRITONSERVER_MetricFamily>& shared() const noexcept { return family_; }

  private:
    std::shared_ptr<TRITONSERVER_MetricFamily> family_;
};

}  // namespace triton_inprocess
