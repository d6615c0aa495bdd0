// Tensors over memory that other libraries have, on the host or on a GPU.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "abi/cuda.h"
#include "tensor/layout.h"
#include "tensor/tensor.h"
#include "tensor/transfer.h"

namespace triton_inprocess {

struct ForeignArray {
    const char* what;  ///< For messages: "a DLPack tensor".
    DataType data_type;
    Layout layout;
    void* data;
    MemoryPlace place;
    CUstream stream;             ///< What it was given comes before the memory may be read; null: everything is done.
    std::int64_t stream_device;  ///< The GPU that the stream is of, also where the memory is the host's.
};

/// A tensor over the memory, which `owner` has; a copy on the same GPU, or in host memory that is not pinned, if `copy`
/// says so, or if the elements do not lie in C order: then ValueError if `copy` is false. The stream is waited for,
/// without the GIL: Triton knows of no streams, so what it is given must be complete.
Tensor import_foreign_array(const ForeignArray& array, std::optional<bool> copy, const nanobind::object& owner);

}  // namespace triton_inprocess
