#include "bindings/array_view.h"

#include <cstdint>

#include "bindings/array_type.h"
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
    view.layout.shape.assign(interface->shape, interface->shape + interface->dimensions);
    view.layout.strides.assign(interface->strides, interface->strides + interface->dimensions);
    view.layout.element_size = static_cast<std::size_t>(interface->element_size);
    view.data_type = data_type_of_array(interface->kind, view.layout.element_size);
    view.layout.swapped = (interface->flags & flag_native_byte_order) == 0;
    return view;
}

}  // namespace triton_inprocess
