"""A user's own allocator: outputs lie where it says, it is told of every mistake, and it gets all of it back once."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import subprocess
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, run_beside_tests, write_identity
from helpers_functions import add_with_sum
from helpers_one_response import both

import triton_inprocess as ti

X = np.arange(4, dtype=np.float32)


class Pool(ti.MemoryAllocator):
    """numpy's memory, with a book of what is given and what came back."""

    def __init__(self, extra: int = 0) -> None:
        self.extra = extra
        self.asked: list[tuple[int, ti.MemoryType, int, str]] = []
        self.given: list[int] = []
        self.back: list[int] = []

    def allocate(self, byte_size: int, memory_type: ti.MemoryType, memory_type_id: int, name: str, /) -> Any:
        self.asked.append((byte_size, memory_type, memory_type_id, name))
        array = np.zeros(byte_size + self.extra, np.uint8)
        self.given.append(array.ctypes.data)
        return ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, array.nbytes, array)

    def free(self, memory_buffer: ti.MemoryBuffer, /) -> None:
        self.back.append(memory_buffer.data_ptr)


class Keeping(Pool):
    """Without a `free` of its own: the memory goes with its owner."""

    free = ti.MemoryAllocator.free


@pytest.fixture
def model(server: ti.Server) -> ti.Model:
    return add_with_sum(server)


@both
@pytest.mark.parametrize("extra", [0, 100])
def test_outputs_lie_where_the_allocator_says(model: ti.Model, ask: Any, extra: int) -> None:
    pool = Pool(extra)
    response = ask(model, inputs={"x": X}, output_memory_allocator=pool)
    assert response.outputs["y"].tolist() == X.tolist()
    assert response.outputs["z"].tolist() == [6]
    assert sorted(pool.asked) == [(4, ti.MemoryType.CPU, 0, "z"), (16, ti.MemoryType.CPU, 0, "y")]
    assert {each.data_ptr for each in response.outputs.values()} == set(pool.given)
    assert [response.outputs[name].size for name in "yz"] == [16, 4]
    assert pool.back == []
    del response
    gc.collect()
    assert sorted(pool.back) == sorted(pool.given)


def test_the_memory_lives_as_long_as_a_tensor_or_an_array_over_it(model: ti.Model) -> None:
    pool = Pool()
    outputs = model.infer({"x": X}, output_memory_allocator=pool).result().outputs
    array = outputs["y"].numpy()
    other = np.from_dlpack(outputs["z"])
    del outputs
    assert pool.back == []
    assert array.tolist() == X.tolist()
    z = other.ctypes.data
    del other
    assert pool.back == [z]
    del array
    assert sorted(pool.back) == sorted(pool.given)


def test_a_response_that_nobody_looks_at_gives_it_back(model: ti.Model) -> None:
    pool = Pool()
    response = model.infer({"x": X}, output_memory_allocator=pool).result()
    assert pool.back == []
    del response
    assert sorted(pool.back) == sorted(pool.given)
    model.infer({"x": X}, output_memory_allocator=pool).close()
    model(x=X)
    deadline = threading.Event()
    for _ in range(1000):
        if len(pool.back) == len(pool.given):
            break
        deadline.wait(0.01)
    assert sorted(pool.back) == sorted(pool.given)


def test_without_a_free_it_goes_with_its_owner(model: ti.Model) -> None:
    gone = []

    class Owning(ti.MemoryAllocator):
        def allocate(self, byte_size: int, memory_type: ti.MemoryType, number: int, name: str, /) -> ti.MemoryBuffer:
            array = np.empty(byte_size, np.uint8)
            weakref.finalize(array, gone.append, name)
            return ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, byte_size, array)

    outputs = model.infer({"x": X}, output_memory_allocator=Owning()).result().outputs
    del outputs["z"]
    assert gone == ["z"]
    del outputs
    assert sorted(gone) == ["y", "z"]


def test_the_callers_own_memory_goes_first(model: ti.Model) -> None:
    pool, target = Pool(), np.zeros(4, np.float32)
    response = model.infer({"x": X}, outputs={"y": target}, output_memory_allocator=pool).result()
    assert [each[3] for each in pool.asked] == ["z"]
    assert target.tolist() == X.tolist()
    assert response.outputs["z"].data_ptr in pool.given


def test_it_is_told_where_the_memory_is_wanted(model: ti.Model) -> None:
    pool = Pool()
    model.infer({"x": X}, output_memory_allocator=pool, output_memory_type="cpu").result()
    assert {each[1:3] for each in pool.asked} == {(ti.MemoryType.CPU, 0)}


def test_an_output_of_nothing_is_asked_for_too(model: ti.Model) -> None:
    pool = Pool()
    response = model.infer({"x": X[:0]}, output_memory_allocator=pool).result()
    assert response.outputs["y"].tolist() == []
    del response
    assert len(pool.back) == len(pool.given) == 2


def test_a_model_in_c_writes_there_too(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    pool = Pool()
    response = start_identity().model("identity").infer({"INPUT0": X}, output_memory_allocator=pool).result()
    assert response.outputs["OUTPUT0"].tolist() == X.tolist()
    assert response.outputs["OUTPUT0"].data_ptr in pool.given


def test_each_response_of_a_stream_has_its_own(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 20})
    pool = Pool()
    responses = list(start_identity().model("identity").infer({"INPUT0": X}, output_memory_allocator=pool))
    assert len(pool.given) == len(set(pool.given)) == 20
    del responses
    assert sorted(pool.back) == sorted(pool.given)


def raising(error: Exception) -> Callable[..., Any]:
    def allocate(*_: Any) -> Any:
        raise error

    return allocate


def giving(make: Callable[[int], Any]) -> Callable[..., Any]:
    return lambda self, byte_size, *_: make(byte_size)


def buffer_of(array: Any, **changes: Any) -> ti.MemoryBuffer:
    fields = {"data_ptr": array.ctypes.data, "memory_type": ti.MemoryType.CPU, "memory_type_id": 0}
    return ti.MemoryBuffer(**{**fields, "size": array.nbytes, "owner": array, **changes})


def read_only(byte_size: int) -> ti.MemoryBuffer:
    return ti.Tensor.from_any(np.zeros(byte_size, np.uint8)).memory_buffer


MISTAKES = [
    (raising(ti.UnavailableError("the arena is full")), ti.UnavailableError, "the arena is full"),
    (raising(MemoryError("no more")), ti.InternalError, "no more"),
    (giving(lambda _: None), ti.InvalidArgumentError, "must return a MemoryBuffer for output '.', not NoneType"),
    (giving(np.zeros), ti.InvalidArgumentError, "must return a MemoryBuffer for output '.', not ndarray"),
    (giving(lambda size: buffer_of(np.zeros(size - 1, np.uint8))), ti.InvalidArgumentError, "gave 15 bytes for output 'y', which needs 16 bytes|gave 3 bytes"),  # noqa: E501
    (giving(lambda size: buffer_of(np.zeros(size, np.uint8), memory_type_id=-1)), ti.InvalidArgumentError, "memory_type_id -1"),  # noqa: E501
    (giving(read_only), ti.InvalidArgumentError, "gave read-only memory for output"),
]  # fmt: skip


@both
@pytest.mark.parametrize(("allocate", "error", "words"), MISTAKES)
def test_its_mistakes_are_the_requests_errors(
    model: ti.Model, ask: Any, allocate: Any, error: type[Exception], words: str
) -> None:
    back = []
    wrong = type(
        "Wrong", (ti.MemoryAllocator,), {"allocate": allocate, "free": lambda self, memory: back.append(memory)}
    )()
    with pytest.raises(error, match=words):
        ask(model, inputs={"x": X}, output_memory_allocator=wrong)
    given = [each for each in back if isinstance(each, ti.MemoryBuffer)]
    assert len(given) == len(back)
    assert bool(back) == ("gave" in words or "memory_type_id" in words)  # what was refused goes back, too
    assert model(x=X)["z"].tolist() == [6]


def test_memory_elsewhere_than_asked_for_is_refused(model: ti.Model) -> None:
    class Pinned(Pool):
        def allocate(self, byte_size: int, memory_type: ti.MemoryType, number: int, name: str, /) -> Any:
            array = np.zeros(byte_size, np.uint8)
            return buffer_of(array, memory_type=ti.MemoryType.CPU_PINNED)

    with pytest.raises(ti.InvalidArgumentError, match=r"gave pinned host memory .*bytes of host memory"):
        model.infer({"x": X}, output_memory_allocator=Pinned(), output_memory_type="cpu").result()
    response = model.infer({"x": X}, output_memory_allocator=Pinned()).result()
    assert response.outputs["y"].memory_type is ti.MemoryType.CPU_PINNED


@pytest.mark.parametrize("value", [Pool, "pool", 7, object()])
def test_what_is_no_allocator_is_told(model: ti.Model, start_server: StartServer, value: Any) -> None:
    with pytest.raises(TypeError, match="output_memory_allocator must be a MemoryAllocator"):
        model.infer({"x": X}, output_memory_allocator=value)
    with pytest.raises(TypeError, match="output_memory_allocator must be a MemoryAllocator"):
        start_server(output_memory_allocator=value)


def test_an_allocator_has_to_allocate() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ti.MemoryAllocator()  # type: ignore[abstract]


def test_what_free_raises_is_reported_and_harms_nobody(model: ti.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: reported.append(str(args.exc_value)))

    class Failing(Pool):
        def free(self, memory_buffer: ti.MemoryBuffer, /) -> None:
            raise ValueError("not again")

    response = model.infer({"x": X}, output_memory_allocator=Failing()).result()

    def fail() -> None:
        nonlocal response
        try:
            raise KeyError
        finally:
            del response

    with pytest.raises(KeyError):  # the exception on its way is not free's affair
        fail()
    assert reported == ["not again"] * 2


def test_a_dropped_allocator_lives_as_long_as_its_memory(model: ti.Model) -> None:
    pool = Pool()
    back, gone = pool.back, weakref.ref(pool)
    response = model.infer({"x": X}, output_memory_allocator=pool).result()
    del pool
    gc.collect()
    assert gone() is not None
    del response
    assert len(back) == 2
    assert gone() is None


def test_without_memory_of_its_own_it_is_dropped_with_the_request(model: ti.Model) -> None:
    pool = Pool()
    gone = weakref.ref(pool)
    model.infer({"x": X}, output_memory_allocator=pool).result()
    del pool
    model(x=X)  # whoever comes next drops what was put aside
    assert gone() is None


def test_memory_is_given_back_after_the_stop(start_server: StartServer) -> None:
    server = start_server()
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    pool = Pool()
    tensor = server.add_model(lambda x: x, name="m", **specs).infer({"x": X}, output_memory_allocator=pool).result()
    kept = tensor.outputs["y"]
    del tensor
    server.stop()
    assert kept.tolist() == X.tolist()
    assert pool.back == []
    del kept
    assert pool.back == pool.given


def looked_at(response: Any) -> Any:
    return response.outputs


CYCLES: dict[str, Callable[[Any], Any]] = {
    "a response": lambda response: response,
    "a response that was looked at": lambda response: (response.outputs, response)[1],
    "outputs": looked_at,
    "a tensor": lambda response: response.outputs["y"],
}


@pytest.mark.parametrize("extra", [0, 64])
@pytest.mark.parametrize("kind", [Pool, Keeping])
@pytest.mark.parametrize("what", CYCLES)
def test_cycles_are_collected(model: ti.Model, kind: type[Pool], what: str, extra: int) -> None:
    pool = kind(extra)
    gone, back, given = weakref.ref(pool), pool.back, pool.given
    pool.kept = CYCLES[what](model.infer({"x": X}, output_memory_allocator=pool).result())  # type: ignore[attr-defined]
    del pool
    model(x=X)
    gc.collect()
    assert gone() is None
    assert sorted(back) == (sorted(given) if kind is Pool else [])


def test_what_lives_is_not_collected(model: ti.Model) -> None:
    pool = Pool()
    tensor = model.infer({"x": X}, output_memory_allocator=pool).result().outputs["y"]
    pool.kept = tensor  # type: ignore[attr-defined]
    back = pool.back
    del pool
    for _ in range(3):
        gc.collect()
    assert tensor.tolist() == X.tolist()
    assert len(back) == 1  # of z
    del tensor
    gc.collect()
    assert len(back) == 2


def test_blocks_that_know_their_pool_are_collected(model: ti.Model) -> None:
    class Blocks(ti.MemoryAllocator):
        def __init__(self) -> None:
            self.arena = np.zeros(64, np.uint8)
            self.used: list[ti.MemoryBuffer] = []

        def allocate(self, byte_size: int, memory_type: ti.MemoryType, number: int, name: str, /) -> ti.MemoryBuffer:
            data = self.arena.ctypes.data + 16 * len(self.used)
            self.used.append(ti.MemoryBuffer(data, ti.MemoryType.CPU, 0, 16, self))
            return self.used[-1]

    blocks = Blocks()
    gone = weakref.ref(blocks)
    model.infer({"x": X}, output_memory_allocator=blocks).result()
    assert blocks.used[0].owner is blocks
    del blocks
    model(x=X)
    gc.collect()
    assert gone() is None


def test_a_server_may_have_one_for_all_requests(start_server: StartServer) -> None:
    pool, own = Pool(), Pool()
    server = start_server(output_memory_allocator=pool)
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    server.add_model(lambda x: x, name="m", **specs)
    for model in server.model("m"), server.models()["m"], server.models()["m", 1]:
        del pool.given[:]
        request = model.create_request(inputs={"x": X})

        async def use(model: ti.Model = model) -> Any:
            return (await model.async_infer({"x": X})).outputs["y"]

        tensors = [
            model(x=X)["y"],
            model.infer({"x": X}).result().outputs["y"],
            model.infer(request).result().outputs["y"],
            model.infer(inputs={"x": X}).result().outputs["y"],
            *(each.outputs["y"] for each in model.infer_many([{"x": X}])),
            asyncio.run(use()),
        ]
        assert {each.data_ptr for each in tensors} == set(pool.given)
        assert len(pool.given) == 6
        assert request.output_memory_allocator is None
    for fields in {"inputs": {"x": X}}, {"inference_request": {"x": X}}:
        server.model("m").infer(**fields, output_memory_allocator=own).result()
    assert len(own.given) == 2
    with pytest.raises(TypeError, match="inference_request or its fields"):
        server.model("m").infer(request, priority=1)


def test_several_threads_allocate(model: ti.Model) -> None:
    pool = Pool()

    def ask() -> None:
        for _ in range(50):
            assert model.infer({"x": X}, output_memory_allocator=pool).result().outputs["y"].tolist() == X.tolist()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool.given) == 400
    assert sorted(pool.back) == sorted(pool.given)


PROGRAM = """
import faulthandler
faulthandler.dump_traceback_later(50, exit=True)
import numpy as np
import triton_inprocess as ti

class Pool(ti.MemoryAllocator):
    given = back = 0

    def allocate(self, byte_size, memory_type, memory_type_id, name):
        Pool.given += 1
        array = np.zeros(byte_size, np.uint8)
        return ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, byte_size, array)

    def free(self, memory_buffer):
        Pool.back += 1
        print(f"{Pool.back} of {Pool.given}", flush=True)

server = ti.Server().start()
vector = {"x": (np.float32, (-1,))}, {"y": (np.float32, (-1,))}
model = server.add_model(lambda x: x, name="m", inputs=vector[0], outputs=vector[1])
responses = [model.infer({"x": [1, 2]}, output_memory_allocator=Pool()).result() for _ in range(3)]
tensor = responses[0].outputs["y"]
"""


@pytest.mark.parametrize("more", ["", "server.stop()", "responses.append(responses)", "model = server = None"])
def test_what_lives_at_the_end_of_the_interpreter_is_given_back(more: str) -> None:
    result = run_beside_tests(PROGRAM + more)
    assert result.stdout.split() == ["1", "of", "3", "2", "of", "3", "3", "of", "3"]
    assert "leaked" not in result.stderr


def test_an_array_that_python_itself_keeps_beyond_its_end_does_no_harm() -> None:
    assert "leaked" not in run_beside_tests(PROGRAM + "array = tensor.numpy()").stderr


SOURCE = r"""
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <atomic>
struct Book { std::atomic<std::int64_t> given, back, wrong; std::int32_t type; std::int64_t id; };
extern "C" void* give(void* user, const char* name, std::uint64_t size, std::int32_t* type, std::int64_t* id) {
    auto* book = static_cast<Book*>(user);
    if (std::strcmp(name, "full") == 0) { return nullptr; }
    if (book->type >= 0) { *type = book->type; *id = book->id; }
    auto* data = static_cast<std::uint64_t*>(std::malloc(size + 16));
    data[0] = size;
    ++book->given;
    return data + 2;
}
extern "C" void take(void* user, void* data, std::uint64_t size, std::int32_t, std::int64_t) {
    auto* book = static_cast<Book*>(user);
    auto* begin = static_cast<std::uint64_t*>(data) - 2;
    if (begin[0] != size) { ++book->wrong; }
    begin[0] = 0;
    ++book->back;
    std::free(begin);
}
"""


class Book(ctypes.Structure):
    """What the functions of SOURCE count in."""

    _fields_ = [("given", ctypes.c_int64), ("back", ctypes.c_int64), ("wrong", ctypes.c_int64), ("type", ctypes.c_int32), ("id", ctypes.c_int64)]  # fmt: skip  # noqa: E501


@pytest.fixture(scope="session")
def functions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """SOURCE, compiled."""
    folder = tmp_path_factory.mktemp("allocator")
    (folder / "allocator.cpp").write_text(SOURCE)
    compiler = (sysconfig.get_config_var("CXX") or "c++").split()[0]
    command = [compiler, "-shared", "-fPIC", "-o", str(folder / "allocator.so"), str(folder / "allocator.cpp")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "allocator.so"))


def address(function: Any) -> int:
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(type=-1)
    yield book
    assert book.given == book.back
    assert book.wrong == 0


@pytest.fixture
def native(functions: ctypes.CDLL, book: Book) -> ti.NativeMemoryAllocator:
    return ti.NativeMemoryAllocator(
        address(functions.give), address(functions.take), ctypes.addressof(book), (functions, book)
    )


@both
def test_c_functions_may_give_the_memory(model: ti.Model, ask: Any, native: Any, book: Book) -> None:
    response = ask(model, inputs={"x": X}, output_memory_allocator=native)
    assert response.outputs["y"].tolist() == X.tolist()
    assert (book.given, book.back) == (2, 0)
    tensor = response.outputs["y"]
    del response
    gc.collect()
    assert (book.given, book.back) == (2, 1)
    del tensor
    assert book.back == 2


def test_c_functions_are_not_asked_for_nothing(model: ti.Model, native: Any, book: Book) -> None:
    assert model.infer({"x": X[:0]}, output_memory_allocator=native).result().outputs["y"].tolist() == []
    assert book.given == 1


@pytest.mark.parametrize(
    ("place", "words"), [((7, 0), "gave memory of type 7 for output"), ((0, -2), "memory_type_id -2")]
)
def test_mistakes_of_c_functions_are_told(
    model: ti.Model, native: Any, book: Book, place: tuple[int, int], words: str
) -> None:
    book.type, book.id = place
    with pytest.raises(ti.InvalidArgumentError, match=words):
        model.infer({"x": X}, output_memory_allocator=native).result()
    assert book.given == book.back > 0


def test_c_functions_may_have_no_memory(server: ti.Server, native: Any, book: Book) -> None:
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"full": (np.float32, (-1,))}}
    model = server.add_model(lambda x: x, name="m", **specs)
    with pytest.raises(ti.UnavailableError, match="has no 16 bytes of host memory for output 'full'"):
        model.infer({"x": X}, output_memory_allocator=native).result()
    assert book.given == 0


def test_a_server_may_have_c_functions_for_all_requests(start_server: StartServer, native: Any, book: Book) -> None:
    server = start_server(output_memory_allocator=native)
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
    model = server.add_model(lambda x: x, name="m", **specs)
    assert model(x=X)["y"].tolist() == X.tolist()
    assert book.given == book.back == 1


def test_their_owner_is_kept_while_memory_lives(model: ti.Model, functions: ctypes.CDLL) -> None:
    class Owner:
        pass

    owner, book = Owner(), Book(type=-1)
    gone = weakref.ref(owner)
    native = ti.NativeMemoryAllocator(address(functions.give), address(functions.take), ctypes.addressof(book), owner)
    tensor = model.infer({"x": X}, output_memory_allocator=native).result().outputs["y"]
    del owner, native
    gc.collect()
    assert gone() is not None
    del tensor
    model(x=X)
    assert gone() is None
    assert book.given == book.back == 2


def test_a_cycle_through_their_owner_is_collected(functions: ctypes.CDLL) -> None:
    class Owner:
        allocator: Any

    owner = Owner()
    gone = weakref.ref(owner)
    owner.allocator = ti.NativeMemoryAllocator(address(functions.give), address(functions.take), 0, owner)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 1), ValueError, "allocate_function must be the address of a C function, not 0"),
        ((1, 0), ValueError, "free_function must be the address of a C function, not 0"),
        (("f", 1), TypeError, "allocate_function must be an int, not str"),
        ((1, None), TypeError, "free_function must be an int, not NoneType"),
        ((1, 1, -1), ValueError, "user_data must be from 0 to"),
    ],
)
def test_what_is_no_address_is_told(arguments: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ti.NativeMemoryAllocator(*arguments)


def test_an_answer_from_the_cache_is_put_there_by_the_submitting_thread(
    start_identity: StartServer, runtime: ti.runtime.Runtime, repository: Path
) -> None:
    if not runtime.cache_directories:
        pytest.skip("the runtime has no caches")
    write_identity(repository, more="response_cache { enable: true }")
    model = start_identity(cache_config={"local": {"size": 1 << 20}}).model("identity")
    threads = []

    class Telling(Pool):
        def allocate(self, *arguments: Any) -> Any:
            threads.append(threading.get_ident())
            return super().allocate(*arguments)

    for _ in range(20):
        pool = Telling()
        response = model.infer({"INPUT0": X}, output_memory_allocator=pool).result()
        assert response.outputs["OUTPUT0"].tolist() == X.tolist()
        assert response.outputs["OUTPUT0"].data_ptr in pool.given
    assert threading.get_ident() in threads
