#include "bindings/shared_tensor.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
#include "bindings/gil.h"
#include "bindings/shape.h"
#include "bindings/shared_location.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using Shape = std::vector<std::int64_t>;

CachedAttribute to_data_type("triton_inprocess._convert", "to_data_type");

void make(SharedTensor* self, const nb::object& key, const nb::object& offset, const nb::object& byte_size,
          const nb::object& data_type, Shape shape) {
    new (self)
        SharedTensor(SharedMemoryRegion(text_argument("key", key), unsigned_argument("offset", offset, INT64_MAX),
                                        unsigned_argument("byte_size", byte_size, INT64_MAX), {}),
                     shared_data_type(data_type), std::move(shape));
}

nb::tuple state_of(const SharedTensor& self) {
    return nb::make_tuple(location_values(self.location()), static_cast<int>(self.data_type()),
                          shape_tuple(self.shape()));
}

void make_from_state(SharedTensor* self, const nb::tuple& state) {
    if (state.size() != 3) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the state of a SharedTensor has 3 values, not " + std::to_string(state.size()));
    }
    Shape shape;
    const nb::object dimensions = state[2];
    if (PyTuple_Check(dimensions.ptr()) == 0) {
        wrong_type("shape", "a tuple of ints", dimensions);
    }
    for (const nb::handle dimension : nb::borrow<nb::tuple>(dimensions)) {
        shape.push_back(static_cast<std::int64_t>(unsigned_argument("each dimension of shape", dimension, INT64_MAX)));
    }
    new (self) SharedTensor(
        location_of_values(nb::object(state[0])),
        static_cast<TRITONSERVER_DataType>(unsigned_argument("data_type", state[1], TRITONSERVER_TYPE_BF16)),
        std::move(shape));
}

std::string text_of_tensor(const SharedTensor& self) {
    const bool on_gpu = memory_type_of(self) == TRITONSERVER_MEMORY_GPU;
    const std::string place = on_gpu ? "memory_type=GPU, memory_type_id=" + std::to_string(memory_type_id_of(self))
                                     : "key='" + key_of(self) + "'";
    return "SharedTensor(" + place + ", offset=" + std::to_string(self.offset()) +
           ", byte_size=" + std::to_string(self.byte_size()) + ", data_type=" + data_type_name(self.data_type()) +
           ", shape=" + shape_text(self.shape().data(), self.shape().size()) + ")";
}

Tensor open(const SharedTensor& self, bool writable) {
    const ReleaseGil guard;
    return self.open(writable);
}

}  // namespace

DataType shared_data_type(nb::handle value) {
    return nb::cast<TRITONSERVER_DataType>(to_data_type.get()(value));
}

SharedTensor share_tensor(const Tensor& tensor, const BoundSharedMemoryPool* pool) {
    if (pool == nullptr) {
        if (tensor.buffer()->memory_type() != TRITONSERVER_MEMORY_GPU) {
            throw nb::type_error(
                "pool must be a SharedMemoryPool for a tensor in host memory, not None: it is shared by being put "
                "there");
        }
        const ReleaseGil guard;
        return SharedTensor::share(tensor);
    }
    const std::shared_ptr<SharedMemoryPool> opened = pool->opened();
    const ReleaseGil guard;
    return SharedTensor::share(tensor, *opened);
}

void register_shared_tensor(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<SharedTensor>(
        module, "SharedTensor",
        "Where a tensor lies that several processes share: a few hundred bytes to send to another process, which opens "
        "it without a copy.\n\n"
        "`Tensor.share` returns one that holds the tensor's memory. What pickle makes of it holds nothing.\n\n"
        "In host memory, keep the first one until the receiver has opened its own, or the memory may be free by then "
        "and opening raises NotFoundError. It never opens as another tensor.\n\n"
        "In GPU memory, keep the first one, and its process, for as long as any other process has the tensor: the "
        "driver frees the memory under those that have it open. Both processes must see the GPU under the same number "
        "(CUDA_VISIBLE_DEVICES).\n\n"
        "One made from its arguments describes host memory that somebody else takes care of, such as what "
        "tritonclient's create_shared_memory_region makes.")
        .def("__init__", &make, "key"_a, "offset"_a, "byte_size"_a, "data_type"_a, "shape"_a,
             nb::sig("def __init__(self, key: str, offset: int, byte_size: int, data_type: typing.Any, "
                     "shape: collections.abc.Sequence[int]) -> None"),
             "Describe a tensor in the POSIX shared memory `key`, which need not exist yet.\n\n"
             "Args:\n"
             "    key: The name of the shared memory, with or without the slash in front of it.\n"
             "    offset: Of the first byte.\n"
             "    byte_size: Length in bytes; BYTES have Triton's encoding.\n"
             "    data_type: A DataType, Triton's name of one, or a numpy dtype.\n"
             "    shape: Size of each dimension.\n\n"
             "Raises:\n"
             "    InvalidArgumentError: The key is none, or the shape needs another number of bytes.")
        .def(
            "open", &open, "writable"_a = false,
            "A tensor over the memory itself: host memory is kept by it, that of a GPU is kept by whoever shared "
            "it.\n\n"
            "Args:\n"
            "    writable: Whether arrays over it may be written to. Everybody who has opened the tensor sees what is "
            "written; taking turns is up to the users.\n\n"
            "Raises:\n"
            "    NotFoundError: The memory is no more, or the tensor in it: everybody let go of it.\n"
            "    InvalidArgumentError: Offset and size are not within the memory, the GPU knows of no such memory (any "
            "more), or it may only be read, as it was shared from an array of somebody else's.\n"
            "    InternalError: The pool is damaged.\n"
            "    UnavailableError: 256 processes have the pool open, or this one may not open it. CUDA was used by the "
            "process that this one was forked from.\n"
            "    UnsupportedError: GPU memory, and there is no GPU.")
        .def_prop_ro("memory_type", &memory_type_of, "MemoryType.GPU, or MemoryType.CPU for any kind of host memory.")
        .def_prop_ro("memory_type_id", &memory_type_id_of, "The number of the GPU; 0 for host memory.")
        .def_prop_ro("key", &key_of,
                     "The name of the shared memory, with a slash in front of it. Raises UnsupportedError for GPU "
                     "memory, which has an `ipc_handle`.")
        .def_prop_ro("ipc_handle", &ipc_handle_of,
                     "The 64 bytes of CUDA's handle (CUipcMemHandle) of the allocation that the tensor lies in, all 0 "
                     "when the tensor has no bytes. Raises UnsupportedError for host memory, which has a `key`.")
        .def_prop_ro("offset", &SharedTensor::offset,
                     "Of the first byte, from the start of the shared memory or of the GPU's allocation.")
        .def_prop_ro("byte_size", &SharedTensor::byte_size, "Length in bytes.")
        .def_prop_ro("data_type", &SharedTensor::data_type, "Type of the elements.")
        .def_prop_ro(
            "shape", [](const SharedTensor& self) { return shape_tuple(self.shape()); },
            nb::sig("def shape(self) -> tuple[int, ...]"), "Size of each dimension.")
        .def("__getstate__", &state_of,
             nb::sig("def __getstate__(self) -> tuple[tuple[str, int, int, int, int] | "
                     "tuple[bytes, int, int, int, bool, int, int], int, tuple[int, ...]]"))
        .def("__setstate__", &make_from_state, "state"_a,
             nb::sig("def __setstate__(self, state: tuple[tuple[str, int, int, int, int] | "
                     "tuple[bytes, int, int, int, bool, int, int], int, tuple[int, ...]]) -> None"))
        .def("__repr__", &text_of_tensor);
}

}  // namespace triton_inprocess
