// The C server options, owned.
#pragma once

#include <nanobind/intrusive/counter.h>

#include <memory>

#include "abi/types.h"

namespace triton_inprocess {

class ServerOptions : public nanobind::intrusive_base {
  public:
    /// Options with the library's defaults, and ours for those that it leaves uninitialised (model load retry count:
    /// 0, peer access: on). Throws UNAVAILABLE when no runtime is loaded.
    ServerOptions();

    TRITONSERVER_ServerOptions* get() const noexcept { return options_.get(); }

  private:
    struct Delete {
        void operator()(TRITONSERVER_ServerOptions* options) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_ServerOptions, Delete> options_;
};

}  // namespace triton_inprocess
