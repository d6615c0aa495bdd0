#include "bindings/shape.h"

namespace nb = nanobind;

namespace triton_inprocess {

nb::tuple shape_tuple(const std::vector<std::int64_t>& shape) {
    nb::list numbers;
    for (const std::int64_t dimension : shape) {
        numbers.append(dimension);
    }
    return nb::tuple(numbers);
}

}  // namespace triton_inprocess
