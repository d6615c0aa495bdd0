#include "core/front_end.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

/// Those that are open. Asked at each call of a front end's, changed when one is opened or gone.
struct FrontEnds {
    std::shared_mutex mutex;
    std::unordered_map<const void*, Ref<FrontEnd>> open;
};

// Not destroyed: a front end that could not be stopped may call until the process has ended.
FrontEnds& front_ends() {
    static auto* const instance = new FrontEnds;  // NOLINT(cppcoreguidelines-owning-memory)
    return *instance;
}

}  // namespace

Ref<FrontEnd> FrontEnd::open(Ref<ServerState> server, const Access& access) {
    auto result = make_ref<FrontEnd>(std::move(server), access);
    FrontEnds& all = front_ends();
    const std::unique_lock guard(all.mutex);
    all.open.emplace(result.get(), result);
    return result;
}

Ref<FrontEnd> FrontEnd::find(const TRITONSERVER_Server* handle) {
    FrontEnds& all = front_ends();
    const std::shared_lock guard(all.mutex);
    const auto found = all.open.find(handle);
    return found != all.open.end() ? found->second : nullptr;
}

bool FrontEnd::any_changes_log() {
    FrontEnds& all = front_ends();
    const std::shared_lock guard(all.mutex);
    for (const auto& [handle, front_end] : all.open) {
        if (front_end->access_.log_settings && !front_end->closed_.load()) {
            return true;
        }
    }
    return false;
}

void FrontEnd::forget() noexcept {
    close();
    Ref<FrontEnd> last;  // dropped without the lock
    FrontEnds& all = front_ends();
    const std::unique_lock guard(all.mutex);
    const auto found = all.open.find(this);
    if (found != all.open.end()) {
        last = std::move(found->second);
        all.open.erase(found);
    }
}

FrontEnd::Call::Call(Ref<FrontEnd> front_end) : front_end_(std::move(front_end)), use_(front_end_->server_) {
    front_end_->calls_.fetch_add(1);
}

FrontEnd::Call::~Call() {
    front_end_->calls_.fetch_sub(1);
}

FrontEnd::Place::Place(Ref<FrontEnd> front_end) : count_(std::move(front_end)), use_(count_.server()) {}

FrontEnd::Place::Count::Count(Ref<FrontEnd> front_end) : front_end_(std::move(front_end)) {
    // Counted first: who closes it and then finds nothing in flight can rely on that.
    const std::int64_t others = front_end_->requests_.fetch_add(1);
    try {
        if (front_end_->closed_.load()) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the endpoint is being closed");
        }
        if (others >= front_end_->access_.max_in_flight) {
            throw Error(TRITONSERVER_ERROR_UNAVAILABLE,
                        std::to_string(others) + " requests are in flight, which is the most allowed");
        }
        front_end_->server_->require_accepting();
    } catch (...) {
        front_end_->requests_.fetch_sub(1);
        throw;
    }
}

FrontEnd::Place::Count::~Count() {
    front_end_->requests_.fetch_sub(1);
}

}  // namespace triton_inprocess
