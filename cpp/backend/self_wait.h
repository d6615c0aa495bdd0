// A function that waits for its own model would wait for itself.
#pragma once

#include "backend/python_function.h"
#include "core/request_block.h"

namespace triton_inprocess {

/// For as long as the calling thread waits for a response to the request.
class SelfWait {
  public:
    /// Throws UNAVAILABLE on a thread that executes the model which is asked, when every instance of it waits so: there
    /// is nobody left to answer.
    explicit SelfWait(const RequestBlock& request);
    ~SelfWait();
    SelfWait(const SelfWait&) = delete;
    SelfWait& operator=(const SelfWait&) = delete;

  private:
    PythonFunction* function_ = nullptr;  ///< Null where the wait is an ordinary one.
};

}  // namespace triton_inprocess
