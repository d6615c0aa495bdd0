#include "bindings/reader_task.h"

#include "bindings/cached_attribute.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute current_task("asyncio", "current_task");

}  // namespace

void ReaderTask::watch(const Ref<ResponseQueue>& queue) {
    const nb::object task = current_task.get()();
    if (task.is_none() || task.ptr() == *task_) {
        return;
    }
    *task_ = task.ptr();
    const auto ended = [queue, watched = task_](nb::handle ending) {
        if (ending.ptr() != *watched) {
            return;  // another one reads now
        }
        *watched = nullptr;
        if (nb::cast<bool>(ending.attr("cancelled")())) {
            queue->relax();
        }
    };
    task.attr("add_done_callback")(nb::cpp_function(ended));
}

}  // namespace triton_inprocess
