#include "core/completion_hub.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {

CompletionHub::CompletionHub() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, std::string("cannot create an eventfd: ") + std::strerror(errno));
    }
}

CompletionHub::~CompletionHub() {
    close(descriptor_);
}

void CompletionHub::notify(Ref<ResponseQueue> queue) noexcept {
    bool first = false;
    {
        const std::scoped_lock guard(mutex_);
        first = ready_.empty();
        ready_.push_back(std::move(queue));
    }
    if (first) {
        const std::uint64_t one = 1;
        // Only a full counter could refuse the write, and that one is readable already.
        static_cast<void>(!write(descriptor_, &one, sizeof(one)));
    }
}

std::vector<Ref<ResponseQueue>> CompletionHub::take() noexcept {
    std::uint64_t count = 0;
    // Read before taking: a queue that comes in between signals again.
    static_cast<void>(!read(descriptor_, &count, sizeof(count)));
    std::vector<Ref<ResponseQueue>> ready;
    const std::scoped_lock guard(mutex_);
    ready.swap(ready_);
    return ready;
}

}  // namespace triton_inprocess
