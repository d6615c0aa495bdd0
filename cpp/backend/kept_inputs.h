// A function that keeps its inputs keeps memory that others write to.
#pragma once

#include "backend/request_batch.h"

namespace triton_inprocess {

/// Warns, in Python and once, of a function that has inputs of the batch still, although it has returned. Needs the
/// GIL.
void warn_of_kept_inputs(const RequestBatch& batch) noexcept;

}  // namespace triton_inprocess
