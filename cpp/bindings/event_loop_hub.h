// The iterators that one event loop waits for, and the descriptor that wakes it.
#pragma once

#include <nanobind/nanobind.h>

#include <unordered_map>
#include <vector>

#include "core/completion_hub.h"

namespace triton_inprocess {

class AsyncResponseIterator;

class EventLoopHub {
  public:
    int fileno() const noexcept { return hub_->descriptor(); }

    /// Hands every response that has come to the future that waits for it.
    void drain();

    /// Keeps `self`, the Python object of `iterator`, until its response has come. False when a response is there
    /// already.
    bool wait_for(AsyncResponseIterator& iterator, nanobind::object self);

    std::vector<PyObject*> held() const {
        std::vector<PyObject*> objects;
        objects.reserve(waiting_.size());
        for (const auto& [iterator, object] : waiting_) {
            objects.push_back(object.ptr());
        }
        return objects;
    }
    void let_go() noexcept { waiting_.clear(); }

  private:
    Ref<CompletionHub> hub_ = make_ref<CompletionHub>();
    std::unordered_map<AsyncResponseIterator*, nanobind::object> waiting_;
};

void register_event_loop_hub(nanobind::module_& module);

}  // namespace triton_inprocess
