#include "core/server_options.h"

#include "runtime/error.h"
#include "runtime/function_table.h"
#include "runtime/runtime.h"

namespace triton_inprocess {

ServerOptions::ServerOptions() {
    Runtime::current();
    TRITONSERVER_ServerOptions* options = nullptr;
    check(api().TRITONSERVER_ServerOptionsNew(&options));
    options_.reset(options);
    // The library leaves these two to chance. An older one, that lacks the setter, has nothing to set either.
    if (available("TRITONSERVER_ServerOptionsSetModelLoadRetryCount")) {
        check(api().TRITONSERVER_ServerOptionsSetModelLoadRetryCount(options, 0));
    }
    if (available("TRITONSERVER_ServerOptionsSetEnablePeerAccess")) {
        check(api().TRITONSERVER_ServerOptionsSetEnablePeerAccess(options, true));
    }
}

std::unique_lock<std::mutex> ServerOptions::lock() const {
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                    "the options are being changed by another thread, or a server is being started from them");
    }
    return lock;
}

void ServerOptions::Delete::operator()(TRITONSERVER_ServerOptions* options) const noexcept {
    ignore(api().TRITONSERVER_ServerOptionsDelete(options));
}

}  // namespace triton_inprocess
