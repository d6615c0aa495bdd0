#include "work.h"

#include <algorithm>
#include <utility>

#include "calls.h"

namespace fake_cuda {

std::shared_ptr<Operation> Work::put(CUstream stream, std::function<void()> action, std::vector<std::uintptr_t> uses) {
    CUcontext const context = stream->context;
    auto operation = std::make_shared<Operation>();
    operation->context = context;
    operation->action = std::move(action);
    operation->uses = std::move(uses);
    const auto follow = [&](const CUstream_st& other) {
        if (other.last && !other.last->done) {
            operation->after.push_back(other.last);
        }
    };
    follow(*stream);
    if (stream == &context->default_stream) {
        follow(context->thread_stream);
        for (CUstream const other : context->streams) {
            if (other->ordered_with_default) {
                follow(*other);
            }
        }
    } else if (stream->ordered_with_default) {
        follow(context->default_stream);
    }
    stream->last = operation;
    pending_.push_back(operation);
    return operation;
}

void Work::wait(const std::shared_ptr<Operation>& operation) {
    if (!operation || operation->done) {
        return;
    }
    for (const auto& each : operation->after) {
        wait(each);
    }
    operation->after.clear();
    for (const std::uintptr_t address : operation->uses) {
        const auto allocation = memory_.find(address);
        if (!allocation) {
            Calls::instance().breach("memory was freed before an operation that uses it");
        } else if (allocation->made && !allocation->made->done) {
            Calls::instance().breach("memory of a pool was used by a stream that does not wait for its allocation");
        }
    }
    operation->done = true;
    pending_.erase(std::find(pending_.begin(), pending_.end(), operation));
    operation->action();
    operation->action = nullptr;
}

void Work::wait_for_all(CUcontext context) {
    const auto all = pending_;
    for (const auto& each : all) {
        if (each->context == context) {
            wait(each);
        }
    }
}

bool Work::uses(std::uintptr_t allocation) const {
    return std::any_of(pending_.begin(), pending_.end(), [&](const auto& each) {
        return std::find(each->uses.begin(), each->uses.end(), allocation) != each->uses.end();
    });
}

}  // namespace fake_cuda
