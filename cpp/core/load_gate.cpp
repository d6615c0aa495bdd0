#include "core/load_gate.h"

#include "runtime/error.h"

namespace triton_inprocess {

LoadGate::Pass::Pass(LoadGate& gate) : gate_(gate) {
    const std::scoped_lock guard(gate_.mutex_);
    if (gate_.closed_) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the server is being stopped");
    }
    ++gate_.inside_;
}

LoadGate::Pass::~Pass() {
    // Notified with the lock: whoever waits may destroy the gate as soon as it has it.
    const std::scoped_lock guard(gate_.mutex_);
    --gate_.inside_;
    gate_.left_.notify_all();
}

bool LoadGate::close(Deadline deadline) noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    return left_.wait_until(lock, deadline, [this] { return inside_ == 0; });
}

}  // namespace triton_inprocess
