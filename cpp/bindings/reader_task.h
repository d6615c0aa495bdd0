// The asyncio task that reads responses for which there is only so much room.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "core/response_queue.h"

namespace triton_inprocess {

/// A task that is cancelled reads no more, but what it was stopped in, its frames, may keep the iterator for long: the
/// model must not wait for that.
class ReaderTask {
  public:
    /// The running task reads from the queue, which is to hold nobody up once the task was cancelled. Nothing where no
    /// task runs.
    void watch(const Ref<ResponseQueue>& queue);

  private:
    /// The task that is watched; null once it has ended. Shared with its callback.
    std::shared_ptr<PyObject*> task_ = std::make_shared<PyObject*>(nullptr);
};

}  // namespace triton_inprocess
