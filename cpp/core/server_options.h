// The C server options, owned.
#pragma once

#include <nanobind/intrusive/counter.h>

#include <memory>
#include <mutex>

#include "abi/types.h"

namespace triton_inprocess {

class ServerOptions : public nanobind::intrusive_base {
  public:
    /// Options with the library's defaults, and ours for those that it leaves uninitialised (model load retry count:
    /// 0, peer access: on). Throws UNAVAILABLE when no runtime is loaded.
    ServerOptions();

    TRITONSERVER_ServerOptions* get() const noexcept { return options_.get(); }

    /// For changing the options, or while a server is started from them. Throws UNAVAILABLE when somebody else does
    /// that at the moment: waiting could be for a start that waits for the GIL.
    std::unique_lock<std::mutex> lock() const;

  private:
    struct Delete {
        void operator()(TRITONSERVER_ServerOptions* options) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_ServerOptions, Delete> options_;
    mutable std::mutex mutex_;
};

}  // namespace triton_inprocess
