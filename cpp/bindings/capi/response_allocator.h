// The binding of a response allocator whose functions are Python's.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <atomic>

#include "bindings/held_object.h"
#include "core/placement_allocator.h"

namespace triton_inprocess {

class PythonAllocator {
  public:
    /// `start` may be None.
    PythonAllocator(nanobind::object alloc, nanobind::object release, nanobind::object start);

    void set_query_function(nanobind::object function);
    void set_buffer_attributes_function(nanobind::object function);

    TRITONSERVER_ResponseAllocator* get() const noexcept { return allocator_.get(); }
    nanobind::handle alloc() const noexcept { return alloc_; }
    nanobind::handle release() const noexcept { return release_; }
    nanobind::handle start() const noexcept { return start_; }
    nanobind::handle query() const noexcept { return query_; }
    nanobind::handle buffer_attributes() const noexcept { return buffer_attributes_; }

    /// Counts the requests in flight that use it: meanwhile it does not change.
    void begin_use() noexcept { uses_.fetch_add(1); }
    void end_use() noexcept { uses_.fetch_sub(1); }

    std::array<PyObject*, 5> held() const noexcept;
    void let_go() noexcept;

  private:
    void require_idle() const;

    PlacementAllocator allocator_;
    std::atomic<int> uses_{0};
    HeldObject alloc_;
    HeldObject release_;
    HeldObject start_;
    HeldObject query_;
    HeldObject buffer_attributes_;
};

void register_response_allocator(nanobind::module_& module);

}  // namespace triton_inprocess
