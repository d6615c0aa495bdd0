#include "bindings/numpy.h"

#include <string>
#include <utility>

#include "bindings/bytes_array.h"
#include "bindings/cached_attribute.h"
#include "bindings/copies.h"
#include "bindings/device.h"
#include "bindings/numpy_abi.h"
#include "bindings/python_buffer.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

// numpy 2 has twice as many as numpy 1, which beyond its own would make an array of another shape.
constexpr std::size_t every_numpy_has = 32;

CachedAttribute most_dimensions_of_numpy("triton_inprocess._convert", "MOST_DIMENSIONS");

/// How many dimensions an array of the numpy that runs can have.
std::size_t most_dimensions() {
    return nb::cast<std::size_t>(most_dimensions_of_numpy.get());
}

/// The type that numpy itself has for the same memory.
DataType storage_type(DataType data_type) noexcept {
    return data_type == TRITONSERVER_TYPE_BF16 ? TRITONSERVER_TYPE_UINT16 : data_type;
}

Tensor over_memory(nb::handle array, void* data, std::vector<std::int64_t> shape, DataType data_type,
                   bool read_only = true) {
    const std::size_t size = byte_size_of(data_type, shape.data(), shape.size());
    return Tensor(data_type, std::move(shape),
                  make_ref<PythonBuffer>(data, size, TRITONSERVER_MEMORY_CPU, 0, read_only, nb::borrow(array)));
}

/// What an array over the buffer keeps alive. Never the Python object that owns the memory: an array could be made
/// writable again through it.
nb::object owner_of(Ref<Buffer> buffer) {
    nb::capsule capsule(buffer.get(), [](void* block) noexcept { Ref<Buffer>::adopt(static_cast<Buffer*>(block)); });
    static_cast<void>(buffer.detach());
    return std::move(capsule);
}

nb::object as_bfloat16(const nb::object& array) {
    try {
        return array.attr("view")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_ImportError)) {
            throw;
        }
    }
    throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                "numpy has no BF16: install ml_dtypes, or read the bits: tensor.view(DataType.UINT16).numpy()");
}

}  // namespace

nb::module_ numpy() {
    return nb::module_::import_("numpy");
}

std::optional<Tensor> tensor_over_array(nb::handle array, bool read_only) {
    std::optional<PlainArray> plain = plain_array(array);
    if (!plain) {
        return std::nullopt;
    }
    return over_memory(array, plain->data, std::move(plain->shape), plain->data_type, read_only);
}

Tensor tensor_of_array(nb::handle array, const ArrayView& view, std::optional<DataType> data_type,
                       std::optional<bool> copy) {
    const DataType type = data_type.value_or(view.data_type);
    if (view.layout.plain() && !copy.value_or(false)) {
        return over_memory(array, view.data, view.layout.shape, type);
    }
    if (!copy.value_or(true)) {
        refuse_copy("an array", view.layout);
    }
    return Tensor(type, view.layout.shape, gathered(view.layout, view.data));
}

nb::object to_array(const Tensor& tensor, bool read_only) {
    const Ref<Buffer>& buffer = tensor.buffer();
    require_host_memory(*buffer);
    if (tensor.shape().size() > every_numpy_has && tensor.shape().size() > most_dimensions()) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    "a numpy array cannot have the tensor's " + std::to_string(tensor.shape().size()) +
                        " dimensions: this numpy has " + std::to_string(most_dimensions()) + " at most");
    }
    if (tensor.data_type() == TRITONSERVER_TYPE_BYTES) {
        nb::object array = bytes_array(tensor);
        if (read_only) {
            array.attr("setflags")(nb::arg("write") = false);
        }
        return array;
    }
    const nb::object array = array_over(buffer->data(), tensor.shape(), storage_type(tensor.data_type()),
                                        read_only || buffer->read_only(), owner_of(buffer));
    return tensor.data_type() == TRITONSERVER_TYPE_BF16 ? as_bfloat16(array) : array;
}

}  // namespace triton_inprocess
