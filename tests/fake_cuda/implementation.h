// What each function of the driver does, without the counting, recording and failing around it.
#pragma once

#include "abi/cuda.h"

namespace fake_cuda::implementation {

#define CUDA_FUNCTION(name, symbol, need, parameters, arguments) CUresult name parameters;
#include "abi/cuda_functions.def"
#undef CUDA_FUNCTION

}  // namespace fake_cuda::implementation
