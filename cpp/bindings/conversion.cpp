#include "bindings/conversion.h"

#include <nanobind/stl/optional.h>

#include <utility>

#include "bindings/array_view.h"
#include "bindings/cached_attribute.h"
#include "bindings/copies.h"
#include "bindings/numpy.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

CachedAttribute general_conversion("triton_inprocess._convert", "from_any");

/// Whether an array of one type is a tensor of the other as it lies: uint16 may be the bits of BF16.
bool fits(DataType found, std::optional<DataType> wanted) noexcept {
    return found != TRITONSERVER_TYPE_INVALID &&
           (!wanted || *wanted == found || (*wanted == TRITONSERVER_TYPE_BF16 && found == TRITONSERVER_TYPE_UINT16));
}

}  // namespace

Tensor from_any(nb::handle value, std::optional<DataType> data_type, std::optional<bool> copy) {
    if (!data_type && !copy.value_or(false)) {  // nearly always
        if (std::optional<Tensor> tensor = tensor_over_array(value)) {
            return *std::move(tensor);
        }
    }
    if (const std::optional<ArrayView> view = view_of_array(value); view && fits(view->data_type, data_type)) {
        return tensor_of_array(value, *view, data_type, copy);
    }
    const Tensor* tensor = nullptr;
    if (nb::try_cast(value, tensor) && tensor != nullptr && (!data_type || *data_type == tensor->data_type())) {
        return copy.value_or(false) ? Tensor(tensor->data_type(), tensor->shape(), copied(*tensor->buffer())) : *tensor;
    }
    const nb::object result = general_conversion.get()(value, data_type, copy);
    return nb::cast<const Tensor&>(result);
}

}  // namespace triton_inprocess
