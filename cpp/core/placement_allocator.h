// A C response allocator that asks the request's OutputPlacement.
#pragma once

#include <memory>

#include "abi/types.h"

namespace triton_inprocess {

class PlacementAllocator {
  public:
    /// `with_start`: whether the placements are told when a response begins.
    explicit PlacementAllocator(bool with_start);

    /// From now on the placements are asked where outputs will lie, and what their memory is. Not while requests with
    /// this allocator are in flight.
    void enable_query();
    void enable_buffer_attributes();

    TRITONSERVER_ResponseAllocator* get() const noexcept { return allocator_.get(); }

  private:
    struct Delete {
        void operator()(TRITONSERVER_ResponseAllocator* allocator) const noexcept;
    };
    std::unique_ptr<TRITONSERVER_ResponseAllocator, Delete> allocator_;
};

}  // namespace triton_inprocess
