#include "bindings/array_view.h"

#include <cstdint>

#include "bindings/cached_attribute.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

/// The layout that numpy's documentation fixes for what the capsule points to.
struct ArrayInterface {
    int two;
    int dimensions;
    char kind;
    int element_size;
    int flags;
    std::intptr_t* shape;
    std::intptr_t* strides;
    void* data;
    PyObject* description;
};

constexpr int flag_native_byte_order = 0x200;

CachedAttribute array_type("numpy", "ndarray");

DataType data_type_of(char kind, int element_size) noexcept {
    // By kind and size: numpy has several types of the same layout.
    switch (kind) {
        case 'b':
            return element_size == 1 ? TRITONSERVER_TYPE_BOOL : TRITONSERVER_TYPE_INVALID;
        case 'u':
            return element_size == 1   ? TRITONSERVER_TYPE_UINT8
                   : element_size == 2 ? TRITONSERVER_TYPE_UINT16
                   : element_size == 4 ? TRITONSERVER_TYPE_UINT32
                   : element_size == 8 ? TRITONSERVER_TYPE_UINT64
                                       : TRITONSERVER_TYPE_INVALID;
        case 'i':
            return element_size == 1   ? TRITONSERVER_TYPE_INT8
                   : element_size == 2 ? TRITONSERVER_TYPE_INT16
                   : element_size == 4 ? TRITONSERVER_TYPE_INT32
                   : element_size == 8 ? TRITONSERVER_TYPE_INT64
                                       : TRITONSERVER_TYPE_INVALID;
        case 'f':
            return element_size == 2   ? TRITONSERVER_TYPE_FP16
                   : element_size == 4 ? TRITONSERVER_TYPE_FP32
                   : element_size == 8 ? TRITONSERVER_TYPE_FP64
                                       : TRITONSERVER_TYPE_INVALID;
        default:
            return TRITONSERVER_TYPE_INVALID;
    }
}

}  // namespace

std::optional<ArrayView> view_of_array(nb::handle array) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())) != array_type.get().ptr()) {
        return std::nullopt;
    }
    const nb::object capsule = array.attr("__array_struct__");
    const auto* const interface = static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
    if (interface == nullptr) {
        throw nb::python_error();
    }
    ArrayView view;
    view.data = interface->data;
    view.data_type = data_type_of(interface->kind, interface->element_size);
    view.layout.shape.assign(interface->shape, interface->shape + interface->dimensions);
    view.layout.strides.assign(interface->strides, interface->strides + interface->dimensions);
    view.layout.element_size = static_cast<std::size_t>(interface->element_size);
    view.layout.swapped = (interface->flags & flag_native_byte_order) == 0;
    return view;
}

}  // namespace triton_inprocess
