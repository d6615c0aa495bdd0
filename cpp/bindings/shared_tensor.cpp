#include "bindings/shared_tensor.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/cached_attribute.h"
#include "bindings/gil.h"
#include "bindings/shape.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

using Shape = std::vector<std::int64_t>;

CachedAttribute to_data_type("triton_inprocess._convert", "to_data_type");

void make(SharedTensor* self, const nb::object& key, const nb::object& offset, const nb::object& byte_size,
          const nb::object& data_type, Shape shape) {
    new (self) SharedTensor(text_argument("key", key), unsigned_argument("offset", offset, INT64_MAX),
                            unsigned_argument("byte_size", byte_size, INT64_MAX), shared_data_type(data_type),
                            std::move(shape), {});
}

nb::tuple state_of(const SharedTensor& self) {
    return nb::make_tuple(self.key(), self.offset(), self.byte_size(), static_cast<int>(self.data_type()),
                          shape_tuple(self.shape()), self.block().segment_id, self.block().id);
}

void make_from_state(SharedTensor* self, const nb::tuple& state) {
    if (state.size() != 7) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "the state of a SharedTensor has 7 values, not " + std::to_string(state.size()));
    }
    Shape shape;
    for (const nb::handle dimension : nb::cast<nb::tuple>(state[4])) {
        shape.push_back(integer_argument("shape", dimension));
    }
    new (self) SharedTensor(
        text_argument("key", state[0]), unsigned_argument("offset", state[1], INT64_MAX),
        unsigned_argument("byte_size", state[2], INT64_MAX),
        static_cast<TRITONSERVER_DataType>(unsigned_argument("data_type", state[3], TRITONSERVER_TYPE_BF16)),
        std::move(shape),
        {unsigned_argument("segment_id", state[5], UINT64_MAX), unsigned_argument("id", state[6], UINT64_MAX)});
}

Tensor open(const SharedTensor& self, bool writable) {
    const ReleaseGil guard;
    return self.open(writable);
}

}  // namespace

DataType shared_data_type(nb::handle value) {
    return nb::cast<TRITONSERVER_DataType>(to_data_type.get()(value));
}

SharedTensor share_tensor(const Tensor& tensor, const BoundSharedMemoryPool& pool) {
    const std::shared_ptr<SharedMemoryPool> opened = pool.opened();
    const ReleaseGil guard;
    return SharedTensor::share(tensor, *opened);
}

void register_shared_tensor(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<SharedTensor>(
        module, "SharedTensor",
        "Where in shared memory a tensor lies: a few hundred bytes to send to another process, which opens it without "
        "a "
        "copy.\n\n"
        "`Tensor.share` returns one that holds the tensor's memory. What pickle makes of it holds nothing: keep the "
        "first "
        "one until the receiver has opened its own, or the memory may be free by then and opening raises "
        "NotFoundError. It "
        "never opens as another tensor.\n\n"
        "One made from its arguments describes memory that somebody else takes care of, such as what tritonclient's "
        "create_shared_memory_region makes.")
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
        .def("open", &open, "writable"_a = false,
             "A tensor over the memory itself, which it keeps.\n\n"
             "Args:\n"
             "    writable: Whether arrays over it may be written to. Everybody who has opened the tensor sees what is "
             "written; taking turns is up to the users.\n\n"
             "Raises:\n"
             "    NotFoundError: The memory is no more, or the tensor in it: everybody let go of it.\n"
             "    InvalidArgumentError: Offset and size are not within the memory.\n"
             "    InternalError: The pool is damaged.\n"
             "    UnavailableError: 256 processes have the pool open, or this one may not open it.")
        .def_prop_ro("key", &SharedTensor::key, "The name of the shared memory, with a slash in front of it.")
        .def_prop_ro("offset", &SharedTensor::offset, "Of the first byte, from the start of the shared memory.")
        .def_prop_ro("byte_size", &SharedTensor::byte_size, "Length in bytes.")
        .def_prop_ro("data_type", &SharedTensor::data_type, "Type of the elements.")
        .def_prop_ro(
            "shape", [](const SharedTensor& self) { return shape_tuple(self.shape()); },
            nb::sig("def shape(self) -> tuple[int, ...]"), "Size of each dimension.")
        .def("__getstate__", &state_of,
             nb::sig("def __getstate__(self) -> tuple[str, int, int, int, tuple[int, ...], int, int]"))
        .def("__setstate__", &make_from_state, "state"_a,
             nb::sig("def __setstate__(self, state: tuple[str, int, int, int, tuple[int, ...], int, int]) -> None"))
        .def("__repr__", [](const SharedTensor& self) {
            return "SharedTensor(key='" + self.key() + "', offset=" + std::to_string(self.offset()) +
                   ", byte_size=" + std::to_string(self.byte_size()) +
                   ", data_type=" + data_type_name(self.data_type()) +
                   ", shape=" + shape_text(self.shape().data(), self.shape().size()) + ")";
        });
}

}  // namespace triton_inprocess
