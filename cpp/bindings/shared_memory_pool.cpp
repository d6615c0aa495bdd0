#include "bindings/shared_memory_pool.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/gil.h"
#include "bindings/shared_tensor.h"
#include "runtime/error.h"
#include "tensor/shared_tensor.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

std::shared_ptr<SharedMemoryPool> make_pool(const std::string& name, const std::optional<std::size_t>& byte_size,
                                            bool create) {
    const ReleaseGil guard;
    if (create) {
        return SharedMemoryPool::create(name, byte_size.value_or(0));  // it is given, see below
    }
    std::shared_ptr<SharedMemoryPool> pool = SharedMemoryPool::open(name);
    if (byte_size && *byte_size > pool->byte_size()) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "byte_size is " + std::to_string(*byte_size) +
                                                        ", but the shared memory pool '" + pool->name() + "' has " +
                                                        std::to_string(pool->byte_size()) + " bytes");
    }
    return pool;
}

void make(BoundSharedMemoryPool* self, const nb::object& name, const nb::object& byte_size, bool create) {
    std::string chosen;
    if (!name.is_none()) {
        chosen = SharedMemorySegment::name_of(text_argument("name", name));
    } else if (!create) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "name must be given when create is False: which pool is to be opened");
    }
    std::optional<std::size_t> size;
    if (!byte_size.is_none()) {
        size = unsigned_argument("byte_size", byte_size, INT64_MAX);
    } else if (create) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    "byte_size must be given when create is True: a pool does not grow");
    }
    std::shared_ptr<SharedMemoryPool> pool = make_pool(chosen, size, create);
    std::string pool_name = pool->name();
    const std::size_t pool_size = pool->byte_size();
    new (self) BoundSharedMemoryPool{std::move(pool), std::move(pool_name), pool_size};
}

void close(BoundSharedMemoryPool& self) {
    std::shared_ptr<SharedMemoryPool> pool = std::move(self.pool);
    const ReleaseGil guard;
    pool.reset();
}

void unlink(const BoundSharedMemoryPool& self) {
    const std::shared_ptr<SharedMemoryPool> pool = self.opened();
    const ReleaseGil guard;
    pool->unlink();
}

std::size_t free_byte_size(const BoundSharedMemoryPool& self) {
    const std::shared_ptr<SharedMemoryPool> pool = self.opened();
    const ReleaseGil guard;
    return pool->free_byte_size();
}

Tensor empty(const BoundSharedMemoryPool& self, const nb::object& data_type, std::vector<std::int64_t> shape) {
    const std::shared_ptr<SharedMemoryPool> pool = self.opened();
    const DataType type = shared_data_type(data_type);
    const ReleaseGil guard;
    return empty_tensor(*pool, type, std::move(shape));
}

}  // namespace

std::shared_ptr<SharedMemoryPool> BoundSharedMemoryPool::opened() const {
    if (!pool) {
        throw Error(TRITONSERVER_ERROR_UNAVAILABLE, "the shared memory pool '" + name + "' is closed");
    }
    return pool;
}

void register_shared_memory_pool(nb::module_& module) {
    using namespace nb::literals;
    nb::class_<BoundSharedMemoryPool>(
        module, "SharedMemoryPool",
        "Shared memory that several processes put tensors in, and read each other's without a copy.\n\n"
        "One process makes a pool of a fixed size; others open it by its name, or just open a SharedTensor of it. It "
        "is "
        "readable and writable by processes of the same user only (mode 0600). A tensor's memory is in use for as long "
        "as "
        "any process has a Tensor over it, an array made of one, or the SharedTensor that `Tensor.share` returned. "
        "What a "
        "process held that died, by kill -9 too, is free again as soon as another needs it, and none is locked out.\n\n"
        "The name goes when the last process that has the pool open closes it or ends. If the last one is killed (or "
        "ends "
        "by os._exit), the name is removed by the next one that opens it or makes any pool.\n\n"
        "A forked child holds what its parent held, on its own account, until it ends. If there is no place for one "
        "more "
        "process (256) or no file descriptor left, the child's pool raises UnavailableError.\n\n"
        "Triton servers and tritonclient can register the memory of a tensor as system shared memory, by the `key`, "
        "`offset` and `byte_size` of its SharedTensor; they do not hold it, so keep the SharedTensor meanwhile.")
        .def(
            "__init__", &make, "name"_a.none() = nb::none(), "byte_size"_a.none() = nb::none(), "create"_a = true,
            nb::sig("def __init__(self, name: str | None = None, byte_size: int | None = None, create: bool = True) -> "
                    "None"),
            "Make a pool for `byte_size` bytes of tensors, or open the one called `name`.\n\n"
            "Args:\n"
            "    name: The file in /dev/shm; None makes one up.\n"
            "    byte_size: Memory for tensors, rounded up to pages of 4096 bytes and allocated at once; each tensor "
            "takes "
            "its size, rounded up to 64, and 64 more. When a pool is opened: at least what it must have.\n"
            "    create: Whether to make the pool or to open it.\n\n"
            "Raises:\n"
            "    AlreadyExistsError: There is shared memory of that name.\n"
            "    NotFoundError: There is none to open, or all who used it are dead.\n"
            "    InvalidArgumentError: An argument is missing or wrong, or what is to be opened is no (whole) pool.\n"
            "    UnavailableError: /dev/shm has not so much memory left, or 256 processes have the pool open.")
        .def_prop_ro(
            "name", [](const BoundSharedMemoryPool& self) { return self.name; }, "What other processes open it by.")
        .def_prop_ro(
            "key", [](const BoundSharedMemoryPool& self) { return "/" + self.name; },
            "The name as tritonclient and shm_open(3) take it.")
        .def_prop_ro(
            "byte_size", [](const BoundSharedMemoryPool& self) { return self.byte_size; },
            "Bytes for tensors, in use or not.")
        .def_prop_ro("free_byte_size", &free_byte_size,
                     "How many of them nobody uses, maybe in several pieces. Raises UnavailableError when the pool is "
                     "closed.")
        .def("empty", &empty, "data_type"_a, "shape"_a,
             nb::sig("def empty(self, data_type: typing.Any, shape: collections.abc.Sequence[int]) -> Tensor"),
             "A tensor in the pool whose elements are whatever was there; writable, and shared without a copy.\n\n"
             "Args:\n"
             "    data_type: A DataType, Triton's name of one, or a numpy dtype; not BYTES.\n"
             "    shape: Size of each dimension.\n\n"
             "Raises:\n"
             "    InvalidArgumentError: It is BYTES, or the shape is impossible.\n"
             "    UnavailableError: No free piece is large enough, or the pool is closed.")
        .def("unlink", &unlink,
             "Remove the name now: no process can open the pool or its tensors any more that has not yet. Those who "
             "have it "
             "open go on. Raises UnavailableError when the pool is closed.")
        .def("close", &close,
             "Stop using the pool. Tensors in it stay valid, and their memory in use; the name goes once nobody uses "
             "the "
             "pool. Without effect if it is closed.")
        .def(
            "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> SharedMemoryPool"),
            "The pool itself.")
        .def(
            "__exit__", [](BoundSharedMemoryPool& self, const nb::args& /*exception*/) { close(self); },
            nb::sig("def __exit__(self, *exception: object) -> None"), "Close it.")
        .def("__repr__", [](const BoundSharedMemoryPool& self) {
            return "SharedMemoryPool(name='" + self.name + "', byte_size=" + std::to_string(self.byte_size) +
                   (self.pool ? ")" : ", closed)");
        });
}

}  // namespace triton_inprocess
