// Name, type and shape of a model's input or output, as its author declared them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/data_type.h"

namespace triton_inprocess {

struct TensorSpec {
    std::string name;
    DataType data_type;
    std::vector<std::int64_t> shape;  ///< Without the batch dimension; -1 for any size.

    /// Whether the dimensions from `shape` on are ones that this declares.
    bool admits(const std::int64_t* dimensions, std::size_t rank) const noexcept {
        if (rank != shape.size()) {
            return false;
        }
        for (std::size_t i = 0; i < rank; ++i) {
            if (shape[i] != -1 && shape[i] != dimensions[i]) {
                return false;
            }
        }
        return true;
    }
};

}  // namespace triton_inprocess
