// What the server measures at one moment.
#pragma once

#include <memory>
#include <string>

#include "abi/types.h"

namespace triton_inprocess {

class Metrics {
  public:
    /// Takes over a C object.
    explicit Metrics(TRITONSERVER_Metrics* metrics) noexcept : metrics_(metrics) {}

    std::string formatted(TRITONSERVER_MetricFormat format) const;

  private:
    struct Delete {
        void operator()(TRITONSERVER_Metrics* metrics) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_Metrics, Delete> metrics_;
};

}  // namespace triton_inprocess
