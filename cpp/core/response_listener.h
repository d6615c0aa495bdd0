// Whoever is told that a queue of responses has become ready.
#pragma once

#include "tensor/ref_counted.h"

namespace triton_inprocess {

class ResponseQueue;

class ResponseListener : public RefCounted {
  public:
    /// On any thread; the queue's lock is not held.
    virtual void notify(Ref<ResponseQueue> queue) noexcept = 0;
};

}  // namespace triton_inprocess
