#include "core/server_options.h"

#include "runtime/error.h"
#include "runtime/function_table.h"
#include "runtime/runtime.h"

namespace triton_inprocess {
namespace {

// A setter that an older library lacks has nothing uninitialised to set either. Any other failure must be told: the
// option would be left uninitialised.
void set_if_present(TRITONSERVER_Error* error) {
    if (error != nullptr && api().TRITONSERVER_ErrorCode(error) == TRITONSERVER_ERROR_UNSUPPORTED) {
        ignore(error);
    } else {
        check(error);
    }
}

}  // namespace

ServerOptions::ServerOptions() {
    Runtime::current();
    TRITONSERVER_ServerOptions* options = nullptr;
    check(api().TRITONSERVER_ServerOptionsNew(&options));
    options_.reset(options);
    set_if_present(api().TRITONSERVER_ServerOptionsSetModelLoadRetryCount(options, 0));
    set_if_present(api().TRITONSERVER_ServerOptionsSetEnablePeerAccess(options, true));
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
