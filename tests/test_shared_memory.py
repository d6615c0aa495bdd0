"""Tensors in shared memory: shared among processes without a copy, whatever becomes of these."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import itertools
import mmap
import os
import pickle
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import add_echo, answer, run_python
from helpers_peer import Peer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import triton_inprocess as ti

Array = np.ndarray[Any, Any]

FOLDER = Path("/dev/shm")
KIB = 1024
HEADER = 64  # of each tensor
HEAP = 4096  # where the tensors of a pool begin

# The bytes of the file that are locked; see shared_memory_pool.cpp.
USER, OPERATION = 0, 1


def path_of(pool: ti.SharedMemoryPool) -> Path:
    return FOLDER / pool.name


def lock(descriptor: int, byte: int, kind: int = fcntl.F_WRLCK) -> None:
    request = struct.pack("hhqqi", kind, os.SEEK_SET, byte, 1, 0)
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLKW, request)


@pytest.fixture
def start_peer() -> Iterator[Callable[[], Peer]]:
    peers: list[Peer] = []

    def start() -> Peer:
        peers.append(Peer())
        return peers[-1]

    yield start
    for peer in peers:
        peer.kill()
        for stream in (peer.process.stdin, peer.process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@pytest.fixture
def peer(start_peer: Callable[[], Peer]) -> Peer:
    return start_peer()


@pytest.fixture
def pool() -> Iterator[ti.SharedMemoryPool]:
    """A pool that has to be as it was, and gone, after the test."""
    pool = ti.SharedMemoryPool(byte_size=256 * KIB)
    yield pool
    gc.collect()
    assert pool.free_byte_size == pool.byte_size
    pool.close()
    assert not path_of(pool).exists()


def filled(pool: ti.SharedMemoryPool, count: int = 4, value: float = 1) -> ti.Tensor:
    tensor = pool.empty(ti.DataType.FP32, (count,))
    tensor.numpy()[:] = value
    return tensor


# -- pools -------------------------------------------------------------------------------------------------------------


def test_a_pool_has_its_properties(pool: ti.SharedMemoryPool) -> None:
    assert (pool.key, pool.byte_size, pool.free_byte_size) == (f"/{pool.name}", 256 * KIB, 256 * KIB)
    assert repr(pool) == f"SharedMemoryPool(name='{pool.name}', byte_size={256 * KIB})"
    status = path_of(pool).stat()
    assert status.st_mode & 0o7777 == 0o600
    assert status.st_size == HEAP + pool.byte_size
    assert status.st_blocks * 512 >= status.st_size  # it has its memory


def test_the_mode_does_not_depend_on_the_umask() -> None:
    before = os.umask(0o777)
    try:
        with ti.SharedMemoryPool(byte_size=1) as pool:
            assert path_of(pool).stat().st_mode & 0o7777 == 0o600
            with ti.SharedMemoryPool(pool.name, create=False) as second:
                assert second.byte_size == pool.byte_size
    finally:
        os.umask(before)


def test_sizes_are_rounded_up_to_pages() -> None:
    with ti.SharedMemoryPool(byte_size=4097) as pool:
        assert pool.byte_size == 8192


def test_the_same_key_cannot_be_created_twice(pool: ti.SharedMemoryPool, peer: Peer) -> None:
    for name in (pool.name, pool.key):
        with pytest.raises(ti.AlreadyExistsError, match=pool.name):
            ti.SharedMemoryPool(name, 1)
    assert peer.run("ti.SharedMemoryPool(name, 1)", name=pool.name).startswith("AlreadyExistsError")
    assert path_of(pool).exists()
    filled(pool)


def test_a_file_of_others_is_neither_replaced_nor_opened(tmp_path: Path) -> None:
    path = FOLDER / f"triton-inprocess-test-{os.getpid()}"
    path.write_bytes(b"something else" * 1000)
    try:
        with pytest.raises(ti.AlreadyExistsError):
            ti.SharedMemoryPool(path.name, 1)
        with pytest.raises(ti.InvalidArgumentError, match="made by something else"):
            ti.SharedMemoryPool(path.name, create=False)
        assert path.read_bytes() == b"something else" * 1000
        path.unlink()
        path.symlink_to(tmp_path / "target")
        (tmp_path / "target").write_bytes(b"")
        with pytest.raises(ti.TritonError, match=path.name):
            ti.SharedMemoryPool(path.name, create=False)
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(ti.InvalidArgumentError, match="no shared memory"):
            ti.SharedMemoryPool(path.name, create=False)
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ti.InvalidArgumentError, "byte_size must be given"),
        ({"create": False}, ti.InvalidArgumentError, "name must be given"),
        ({"byte_size": 0}, ti.InvalidArgumentError, "byte_size must be positive"),
        ({"byte_size": -1}, ValueError, "byte_size must be from 0"),
        ({"byte_size": 2**63}, ValueError, "byte_size must be from 0"),
        ({"byte_size": 2**63 - 1}, ti.InvalidArgumentError, "byte_size"),
        ({"byte_size": 2**60}, ti.UnavailableError, "bytes: No space"),
        ({"byte_size": 1.5}, TypeError, "byte_size must be an int"),
        ({"byte_size": True}, TypeError, "byte_size must be an int"),
        ({"name": "", "byte_size": 1}, ti.InvalidArgumentError, "name"),
        ({"name": "/", "byte_size": 1}, ti.InvalidArgumentError, "name"),
        ({"name": "..", "byte_size": 1}, ti.InvalidArgumentError, "name"),
        ({"name": "a/b", "byte_size": 1}, ti.InvalidArgumentError, "'a/b'"),
        ({"name": "a" * 251, "byte_size": 1}, ti.InvalidArgumentError, "1 to 250"),
        ({"name": "a\0b", "byte_size": 1}, ValueError, "NUL"),
        ({"name": b"a", "byte_size": 1}, TypeError, "name must be a str"),
        ({"name": "triton-inprocess-nobody", "create": False}, ti.NotFoundError, "nobody"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(error, match=message):
        ti.SharedMemoryPool(**arguments)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_opened_pool_is_at_least_as_large_as_asked(pool: ti.SharedMemoryPool) -> None:
    with ti.SharedMemoryPool(pool.key, pool.byte_size, create=False) as second:
        assert (second.name, second.byte_size) == (pool.name, pool.byte_size)
    with pytest.raises(ti.InvalidArgumentError, match=f"byte_size is {pool.byte_size + 1}"):
        ti.SharedMemoryPool(pool.name, pool.byte_size + 1, create=False)


def test_a_closed_pool_says_so_and_its_tensors_stay() -> None:
    with ti.SharedMemoryPool(byte_size=1) as pool:
        tensor = filled(pool, value=3)
        handle = tensor.share(pool)
        array = tensor.numpy()
    pool.close()
    with pytest.raises(ti.UnavailableError, match="closed"):
        tensor.share(pool)
    for use in (lambda: pool.free_byte_size, lambda: filled(pool), pool.unlink):
        with pytest.raises(ti.UnavailableError, match=f"'{pool.name}' is closed"):
            use()
    assert "closed" in repr(pool)
    del tensor
    assert handle.open().numpy().tolist() == [3, 3, 3, 3]
    assert path_of(pool).exists()
    del handle
    assert array.tolist() == [3, 3, 3, 3]
    assert path_of(pool).exists()
    del array
    gc.collect()
    assert not path_of(pool).exists()


def test_an_unlinked_pool_goes_on_for_who_has_it(peer: Peer) -> None:
    with ti.SharedMemoryPool(byte_size=64 * KIB) as pool:
        tensor = filled(pool, value=2)
        handle = tensor.share(pool)
        peer.run("pool = ti.SharedMemoryPool(name, create=False)", name=pool.name)
        pool.unlink()
        pool.unlink()
        assert not path_of(pool).exists()
        assert peer.run("result = handle.open().numpy().tolist()", handle=handle) == [2, 2, 2, 2]
        assert peer.run("kept = pool.empty('FP32', (4,)); result = kept.share(pool).byte_size") == 16
        with pytest.raises(ti.NotFoundError, match=pool.name):
            ti.SharedMemoryPool(pool.name, create=False)
        # The name is free for another, in which the handle means nothing, and which stays when the old one goes.
        with ti.SharedMemoryPool(pool.name, 1) as other:
            filled(other)
            del tensor, handle
            pool.close()
            peer.run("del kept, pool; gc.collect()")
            assert path_of(other).exists()


def test_a_handle_is_not_opened_in_a_pool_that_has_got_the_name(peer: Peer) -> None:
    with ti.SharedMemoryPool(byte_size=1) as pool:
        handle = filled(pool).share(pool)
        pool.unlink()
        with ti.SharedMemoryPool(pool.name, 1) as other:
            kept = filled(other).share(other)
            assert (kept.offset, kept.byte_size) == (handle.offset, handle.byte_size)
            assert peer.run("handle.open()", handle=handle).startswith("NotFoundError: the shared memory pool")
            assert peer.run("result = len(handle.open().numpy())", handle=kept) == 4


def test_growth_is_bounded() -> None:
    with ti.SharedMemoryPool(byte_size=8 * KIB) as pool:
        whole = pool.empty("UINT8", (8 * KIB - HEADER,))
        assert pool.free_byte_size == 0
        with pytest.raises(ti.UnavailableError, match=r"no room for 0 bytes: 0 of its 8192 bytes are free"):
            pool.empty("UINT8", (0,))
        del whole
        with pytest.raises(ti.UnavailableError, match=r"8129 bytes: 8192 of its 8192 .* that fits has 8128"):
            pool.empty("UINT8", (8 * KIB - HEADER + 1,))
        with pytest.raises(ti.UnavailableError, match="no room"):
            pool.empty("INT64", (2**59,))
        with pytest.raises(ti.InvalidArgumentError, match="too large"):
            pool.empty("INT64", (2**62,))
        with pytest.raises(ti.UnavailableError, match="no room"):
            ti.Tensor.from_bytes_array([b"x" * 8192]).share(pool)
        assert pool.free_byte_size == pool.byte_size


def test_the_largest_piece_is_told_where_it_is_too_small() -> None:
    with ti.SharedMemoryPool(byte_size=4096) as pool:
        tensors = [pool.empty("UINT8", (1024 - HEADER,)) for _ in range(4)]
        del tensors[2], tensors[0]
        with pytest.raises(ti.UnavailableError, match=r"2048 of its 4096 bytes are free.* that fits has 960"):
            pool.empty("UINT8", (961,))
        kept = pool.empty("UINT8", (960,))
        assert pool.free_byte_size == 1024
        del kept


def test_a_thousand_cycles_of_mixed_sizes_leave_the_pool_as_it_was(pool: ti.SharedMemoryPool) -> None:
    chosen = random.Random(0)
    live: list[tuple[ti.SharedTensor, int]] = []
    for i in range(1000):
        size = chosen.choice([0, 1, 63, 64, 65, 500, 4096, 20_000])
        try:
            live.append((ti.Tensor.from_any(np.full(size, i % 256, np.uint8)).share(pool), i % 256))
        except ti.UnavailableError:
            assert len(live) > 4
        while len(live) > 20 or (live and chosen.random() < 0.5):
            handle, value = live.pop(chosen.randrange(len(live)))
            assert np.all(handle.open().numpy() == value)
    del handle
    live.clear()
    assert pool.free_byte_size == pool.byte_size


class Pool(RuleBasedStateMachine):
    """Whatever is put and freed in whatever order."""

    @initialize()
    def start(self) -> None:
        self.pools = [ti.SharedMemoryPool(byte_size=16 * KIB)]
        self.pools.append(ti.SharedMemoryPool(self.pools[0].name, create=False))  # as another process has it
        self.live: list[tuple[ti.Tensor, int]] = []
        self.count = 0

    @rule(size=st.integers(0, 6000), which=st.integers(0, 1))
    def put(self, size: int, which: int) -> None:
        free = self.pools[which].free_byte_size
        try:
            tensor = self.pools[which].empty("UINT8", (size,))
        except ti.UnavailableError:
            assert self.live
            return
        assert free - self.pools[which].free_byte_size == HEADER + (size + 63) // 64 * 64
        self.count += 1
        tensor.numpy()[:] = self.count % 256
        self.live.append((tensor, self.count % 256))

    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        if self.live:
            self.live.pop(data.draw(st.integers(0, len(self.live) - 1)))

    @rule(data=st.data(), which=st.integers(0, 1))
    def share_again(self, data: st.DataObject, which: int) -> None:
        if self.live:
            tensor, value = self.live[data.draw(st.integers(0, len(self.live) - 1))]
            self.live.append((tensor.share(self.pools[which]).open(), value))
            assert self.offset(self.live[-1][0]) == self.offset(tensor)

    def offset(self, tensor: ti.Tensor) -> int:
        """The same in both mappings."""
        return tensor.share(self.pools[0]).offset

    @invariant()
    def nothing_overlaps_and_everything_is_whole(self) -> None:
        blocks = sorted({(self.offset(tensor), tensor.size) for tensor, _ in self.live})
        for (begin, size), (following, _) in itertools.pairwise(blocks):
            assert begin + size + HEADER <= following
        for tensor, value in self.live:
            assert tensor.data_ptr % 64 == 0
            assert np.all(tensor.numpy() == value)
        used = sum(HEADER + (size + 63) // 64 * 64 for _, size in blocks)
        for pool in self.pools:
            assert pool.free_byte_size == pool.byte_size - used

    def teardown(self) -> None:
        self.live.clear()
        for pool in self.pools:
            assert pool.free_byte_size == pool.byte_size
            assert pool.empty("UINT8", (pool.byte_size - HEADER,)).size == pool.byte_size - HEADER
            pool.close()
        assert not path_of(self.pools[0]).exists()


TestPool = Pool.TestCase
TestPool.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)


# -- tensors -----------------------------------------------------------------------------------------------------------

ARRAYS: list[Any] = [
    *(np.arange(6).reshape(2, 3).astype(name) for name in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8")),
    *(np.linspace(-1, 1, 6, dtype=name).reshape(3, 1, 2) for name in ("f2", "f4", "f8")),
    np.array([True, False]),
    np.array([0.5, -2], ml_dtypes.bfloat16),
    np.array(7, np.int32),
    np.zeros((2, 0, 3), np.float32),
    np.zeros((0,), np.int64),
    np.array([b"one", b"", b"\0three\0"], object),
    np.array([[b"x" * 1000], [b"y"]], object),
    np.array([], object),
]


def name_of(array: Array) -> str:
    return f"{array.dtype.name}-{array.shape}"


def tensor_of(array: Array) -> ti.Tensor:
    if array.dtype == object:
        return ti.Tensor.from_bytes_array(array)
    return ti.Tensor.from_any(array)


@pytest.fixture(scope="module")
def reader() -> Iterator[Peer]:
    """One peer for many tests, which keeps nothing."""
    peer = Peer()
    yield peer
    peer.end()


@pytest.mark.parametrize("array", ARRAYS, ids=name_of)
def test_every_type_and_shape_goes_to_another_process(pool: ti.SharedMemoryPool, reader: Peer, array: Array) -> None:
    tensor = tensor_of(array)
    handle = tensor.share(pool)
    assert (handle.key, handle.data_type, handle.shape) == (pool.key, tensor.data_type, array.shape)
    assert handle.byte_size == tensor.size
    assert len(pickle.dumps(handle)) < 500
    there = reader.run(
        "tensor = handle.open(); result = (str(tensor.data_type), tensor.shape, tensor.numpy().tobytes()"
        " if tensor.size and str(tensor.data_type) != 'BYTES' else tensor.numpy().tolist()); del tensor, handle",
        handle=handle,
    )
    plain = array.size and array.dtype != object
    assert there == (str(tensor.data_type), array.shape, array.tobytes() if plain else array.tolist())
    del handle


def test_nothing_is_copied(pool: ti.SharedMemoryPool, peer: Peer) -> None:
    tensor = pool.empty(np.float32, (2, 3))
    array = tensor.numpy()
    array[:] = 1
    handle = tensor.share(pool)
    assert pool.byte_size - pool.free_byte_size == 2 * HEADER
    here = handle.open()
    assert here.data_ptr == tensor.data_ptr
    peer.run("there = handle.open(writable=True).numpy(); there[0, 0] = 5", handle=handle)
    assert array[0, 0] == 5
    array[1, 2] = 7
    assert peer.run("result = there.tolist()") == [[5, 1, 1], [1, 1, 7]]
    peer.run("del there, handle; gc.collect()")


def test_what_is_opened_is_read_only_unless_asked(pool: ti.SharedMemoryPool) -> None:
    handle = filled(pool).share(pool)
    assert not handle.open().numpy().flags.writeable
    assert handle.open(writable=True).numpy().flags.writeable
    with pytest.raises(TypeError):
        handle.open(1)  # type: ignore[arg-type]


def test_sharing_copies_what_is_elsewhere(pool: ti.SharedMemoryPool) -> None:
    array = np.ones(3, np.float32)
    handle = ti.Tensor.from_any(array).share(pool)
    array[:] = 2
    assert handle.open().numpy().tolist() == [1, 1, 1]
    with ti.SharedMemoryPool(byte_size=1) as other:
        there = handle.open().share(other)
        assert there.key == other.key
        assert there.open().numpy().tolist() == [1, 1, 1]


def test_a_tensor_of_the_pool_is_shared_through_any_object_for_it(pool: ti.SharedMemoryPool) -> None:
    tensor = filled(pool)
    with ti.SharedMemoryPool(pool.name, create=False) as second:
        handle = tensor.share(second)
        assert handle.open().data_ptr == tensor.data_ptr


def test_a_handle_holds_and_its_pickle_does_not(pool: ti.SharedMemoryPool, peer: Peer) -> None:
    handle = filled(pool).share(pool)
    sent = pickle.dumps(handle)
    assert pickle.loads(sent).open().numpy().tolist() == [1, 1, 1, 1]
    peer.run("received = pickle.loads(sent)", sent=sent)
    del handle
    for error in (peer.run("received.open()"), raised(pickle.loads(sent).open)):
        assert "everybody who held it has let go of it" in error
        assert error.startswith("NotFoundError")
    # Not even if the memory belongs to another tensor by now.
    successor = filled(pool, value=9).share(pool)
    assert successor.offset == pickle.loads(sent).offset
    assert peer.run("received.open()").startswith("NotFoundError")
    del successor


def raised(action: Callable[[], Any]) -> str:
    with pytest.raises(ti.TritonError) as caught:
        action()
    return f"{type(caught.value).__name__}: {caught.value}"


def test_the_reader_alone_keeps_the_memory(pool: ti.SharedMemoryPool, peer: Peer) -> None:
    handle = filled(pool, 1000, value=4).share(pool)
    peer.run("array = handle.open().numpy()", handle=handle)
    used = pool.byte_size - pool.free_byte_size
    assert used >= 4000
    del handle
    assert pool.byte_size - pool.free_byte_size == used
    others = [filled(pool, 1000, value=8) for _ in range(20)]
    assert peer.run("result = (array == 4).all().item()")
    del others
    assert peer.run("del array, handle; gc.collect()") is None
    assert pool.free_byte_size == pool.byte_size


def test_one_process_may_open_a_tensor_many_times(pool: ti.SharedMemoryPool) -> None:
    handle = filled(pool).share(pool)
    opened = [handle.open() for _ in range(50)]
    del handle
    while len(opened) > 1:
        opened.pop()
        assert pool.free_byte_size < pool.byte_size
    assert opened.pop().numpy().tolist() == [1, 1, 1, 1]
    assert pool.free_byte_size == pool.byte_size


def test_gpu_memory_is_not_for_pools(pool: ti.SharedMemoryPool) -> None:
    buffer = ti.MemoryBuffer(4096, ti.MemoryType.GPU, 0, 16, None)
    with pytest.raises(ti.InvalidArgumentError, match=r"pool must be None for a tensor in GPU memory.*to_host\(\)"):
        ti.Tensor(ti.DataType.FP32, (4,), buffer).share(pool)


def test_pinned_memory_is_host_memory(pool: ti.SharedMemoryPool) -> None:
    array = np.arange(4, dtype=np.float32)
    buffer = ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU_PINNED, 0, 16, array)
    handle = ti.Tensor(ti.DataType.FP32, (4,), buffer).share(pool)
    assert handle.open().numpy().tolist() == [0, 1, 2, 3]


def test_wrong_arguments_of_tensors_are_refused(pool: ti.SharedMemoryPool) -> None:
    with pytest.raises(ti.InvalidArgumentError, match="BYTES"):
        pool.empty("BYTES", (1,))
    with pytest.raises(TypeError, match="data_type must be"):
        pool.empty("FP33", (1,))
    with pytest.raises(ti.InvalidArgumentError, match="negative"):
        pool.empty("FP32", (-1,))
    with pytest.raises(TypeError):
        filled(pool).share("pool")  # type: ignore[arg-type]
    for arguments in ((), (None,)):
        with pytest.raises(TypeError, match="pool must be a SharedMemoryPool for a tensor in host memory, not None"):
            filled(pool).share(*arguments)


def test_a_shared_tensor_goes_through_a_model(server: ti.Server, pool: ti.SharedMemoryPool) -> None:
    model = add_echo(server)
    tensor = filled(pool, 5, value=6)
    assert answer(model, x=tensor).tolist() == [6] * 5
    opened = tensor.share(pool).open()
    assert answer(model, x=opened).tolist() == [6] * 5
    texts = ti.Tensor.from_bytes_array([b"a", b"\0b"]).share(pool).open()
    assert answer(add_echo(server, str, name="texts"), x=texts).tolist() == [b"a", b"\0b"]
    # An answer is shared as any tensor.
    (response,) = model.infer(inputs={"x": opened})
    handle = response.outputs["y"].share(pool)
    assert handle.open().numpy().tolist() == [6] * 5
    del response, handle, tensor, opened, texts


# -- handles -----------------------------------------------------------------------------------------------------------


def forged(handle: ti.SharedTensor, **changes: Any) -> ti.SharedTensor:
    names = ["key", "offset", "byte_size", "segment", "id"]
    location, data_type, shape = handle.__getstate__()
    where = dict(zip(names, location, strict=True)) | {"data_type": data_type, "shape": shape} | changes
    rest = [where.pop("data_type"), where.pop("shape")]
    result = ti.SharedTensor.__new__(ti.SharedTensor)
    result.__setstate__((tuple(where.values()), *rest))  # type: ignore[arg-type]
    return result


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offset": 0}, "InvalidArgumentError.* are not in the shared memory pool"),
        ({"offset": HEAP}, "NotFoundError"),
        ({"offset": 2**63 - 1}, "InvalidArgumentError.* are not in"),
        ({"offset": HEAP + 256 * KIB}, "NotFoundError"),
        ({"offset": HEAP + HEADER + 4}, "InvalidArgumentError: .*16 bytes from byte 4 of its block on, which has 16"),
        ({"offset": HEAP + HEADER + 128}, "NotFoundError"),
        ({"byte_size": 20, "shape": (5,)}, "InvalidArgumentError: .*has 20 bytes from byte 0"),
        ({"byte_size": 2**62, "shape": (2**60,)}, "InvalidArgumentError.* are not in"),
        ({"id": 2**63}, "NotFoundError"),
        ({"segment": 1}, "NotFoundError: .*is not the one"),
        ({"key": "/triton-inprocess-nobody", "segment": 1}, "NotFoundError"),
    ],
)
def test_what_lies_beyond_the_tensor_is_not_opened(
    pool: ti.SharedMemoryPool, changes: dict[str, Any], message: str
) -> None:
    handle = filled(pool).share(pool)
    assert forged(handle).open().numpy().tolist() == [1, 1, 1, 1]
    other = forged(handle, **changes)
    with pytest.raises(ti.TritonError) as caught:
        other.open()
    assert re.search(message, f"{type(caught.value).__name__}: {caught.value}")


def test_a_part_of_a_tensor_can_be_opened(pool: ti.SharedMemoryPool) -> None:
    tensor = pool.empty("FP32", (4,))
    tensor.numpy()[:] = [0, 1, 2, 3]
    handle = tensor.share(pool)
    part = forged(handle, offset=handle.offset + 8, byte_size=8, shape=(2,))
    assert part.open().numpy().tolist() == [2, 3]


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "a/b"},
        {"key": 1},
        {"offset": -1},
        {"offset": None},
        {"byte_size": 15},
        {"byte_size": 2**64},
        {"data_type": 0},
        {"data_type": 15},
        {"shape": (5,)},
        {"shape": (-4,)},
        {"shape": (2**62, 2**62)},
        {"shape": ("4",)},
        {"shape": [4]},
        {"segment": -1},
        {"id": 2**64},
        {"more": 1},
    ],
)
def test_a_forged_pickle_is_refused(pool: ti.SharedMemoryPool, changes: dict[str, Any]) -> None:
    handle = filled(pool).share(pool)
    with pytest.raises((ValueError, TypeError, OverflowError, RuntimeError)):
        forged(handle, **changes)


def test_a_handle_tells_what_it_is(pool: ti.SharedMemoryPool) -> None:
    handle = filled(pool).share(pool)
    assert (handle.key, handle.byte_size, handle.data_type, handle.shape) == (pool.key, 16, ti.DataType.FP32, (4,))
    assert handle.offset == HEAP + HEADER
    assert (handle.memory_type, handle.memory_type_id) == (ti.MemoryType.CPU, 0)
    with pytest.raises(ti.UnsupportedError, match="by its key"):
        _ = handle.ipc_handle
    expected = f"SharedTensor(key='{pool.key}', offset={HEAP + HEADER}, byte_size=16, data_type=FP32, shape=[4])"
    assert repr(handle) == repr(pickle.loads(pickle.dumps(handle))) == expected


# -- memory of others --------------------------------------------------------------------------------------------------


@pytest.fixture
def region() -> Iterator[shared_memory.SharedMemory]:
    """As tritonclient makes it."""
    memory = shared_memory.SharedMemory(create=True, size=1000)
    yield memory
    memory.close()
    memory.unlink()


def test_a_plain_region_is_opened_by_key_offset_and_size(region: shared_memory.SharedMemory) -> None:
    region.buf[100:116] = np.arange(4, dtype=np.float32).tobytes()
    for key in (region.name, f"/{region.name.lstrip('/')}"):
        handle = ti.SharedTensor(key, 100, 16, "FP32", (2, 2))
        assert handle.open().numpy().tolist() == [[0, 1], [2, 3]]
    assert not handle.open().numpy().flags.writeable
    handle.open(writable=True).numpy()[:] = 1
    assert bytes(region.buf[100:116]) == np.ones(4, np.float32).tobytes()
    assert pickle.loads(pickle.dumps(handle)).open().numpy().tolist() == [[1, 1], [1, 1]]
    texts = ti.Tensor.from_bytes_array([b"a", b"bc"])
    region.buf[:11] = ctypes.string_at(texts.data_ptr, texts.size)
    assert ti.SharedTensor(region.name, 0, 11, str, (2,)).open().numpy().tolist() == [b"a", b"bc"]


def test_a_region_stays_while_a_tensor_is_over_it() -> None:
    memory = shared_memory.SharedMemory(create=True, size=16)
    memory.buf[:4] = b"abcd"
    tensor = ti.SharedTensor(memory.name, 0, 4, "UINT8", (4,)).open()
    memory.close()
    memory.unlink()
    assert tensor.numpy().tobytes() == b"abcd"


@pytest.mark.parametrize(
    ("offset", "size"), [(985, 16), (1000, 1), (1001, 0), (2**63 - 1, 0), (2**62, 2**62), (0, 5000)]
)
def test_what_lies_beyond_the_region_is_not_opened(region: shared_memory.SharedMemory, offset: int, size: int) -> None:
    # Regions are as large as asked, but for systems that round up to pages.
    assert (FOLDER / region.name.lstrip("/")).stat().st_size == 1000
    with pytest.raises(ti.InvalidArgumentError, match=rf"{size} bytes at offset {offset} are not in .* has 1000 bytes"):
        ti.SharedTensor(region.name, offset, size, "UINT8", (size,)).open()


def test_the_edge_of_the_region_is_in_it(region: shared_memory.SharedMemory) -> None:
    assert ti.SharedTensor(region.name, 984, 16, "UINT8", (16,)).open().size == 16
    assert ti.SharedTensor(region.name, 1000, 0, "UINT8", (0,)).open().numpy().tolist() == []


def test_an_empty_region_holds_an_empty_tensor() -> None:
    path = FOLDER / f"triton-inprocess-empty-{os.getpid()}"
    path.write_bytes(b"")
    try:
        assert ti.SharedTensor(path.name, 0, 0, "FP32", (0,)).open().numpy().tolist() == []
        with pytest.raises(ti.InvalidArgumentError, match="has 0 bytes"):
            ti.SharedTensor(path.name, 0, 4, "FP32", (1,)).open()
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("nobody", 0, 4, "FP32", (2,)), ti.InvalidArgumentError, "has 8 bytes, but byte_size is 4"),
        (("a/b", 0, 4, "FP32", (1,)), ti.InvalidArgumentError, "a/b"),
        (("a", -1, 4, "FP32", (1,)), ValueError, "offset must be"),
        (("a", 0, -4, "FP32", (1,)), ValueError, "byte_size must be"),
        (("a", 0, 4, "FP33", (1,)), TypeError, "data_type must be"),
        (("a", 0, 4, "BYTES", (-1,)), ti.InvalidArgumentError, "negative"),
        ((1, 0, 4, "FP32", (1,)), TypeError, "key must be"),
    ],
)
def test_wrong_arguments_of_handles_are_named(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ti.SharedTensor(*arguments)


def test_a_region_that_is_not_there() -> None:
    with pytest.raises(ti.NotFoundError, match="triton-inprocess-nobody"):
        ti.SharedTensor("/triton-inprocess-nobody", 0, 4, "FP32", (1,)).open()


def test_others_find_our_tensors_by_key_offset_and_size(pool: ti.SharedMemoryPool) -> None:
    filled(pool, value=1)
    kept = filled(pool, value=2)
    handle = ti.Tensor.from_any(np.arange(4, dtype=np.float32)).share(pool)
    # What a server does with a registered region.
    descriptor = os.open(f"/dev/shm{handle.key}", os.O_RDWR)
    with mmap.mmap(descriptor, handle.offset + handle.byte_size) as memory:
        found = memory[handle.offset : handle.offset + handle.byte_size]
    os.close(descriptor)
    assert np.frombuffer(found, np.float32).tolist() == [0, 1, 2, 3]
    plain = ti.SharedTensor(handle.key, handle.offset, handle.byte_size, handle.data_type, handle.shape)
    assert plain.open().numpy().tolist() == [0, 1, 2, 3]
    del kept, handle


# -- processes that end ------------------------------------------------------------------------------------------------


def test_the_creator_may_end_before_the_reader(start_peer: Callable[[], Peer]) -> None:
    creator, reader = start_peer(), start_peer()
    name, handle = creator.run(
        "pool = ti.SharedMemoryPool(byte_size=100_000); kept = pool.empty('FP32', (4,)); kept.numpy()[:] = 3;"
        " handle = kept.share(pool); result = (pool.name, handle)"
    )
    assert reader.run("array = handle.open().numpy(); result = array.tolist()", handle=handle) == [3] * 4
    creator.end()
    assert (FOLDER / name).exists()
    assert reader.run("result = (array.tolist(), handle.open().numpy().tolist())") == ([3] * 4, [3] * 4)
    with ti.SharedMemoryPool(name, create=False) as third:
        reader.run("del array, handle")
        assert third.free_byte_size == third.byte_size
        reader.end()
        assert (FOLDER / name).exists()
    assert not (FOLDER / name).exists()


def test_the_reader_may_end_before_the_creator(start_peer: Callable[[], Peer]) -> None:
    creator, reader = start_peer(), start_peer()
    name, handle = creator.run(
        "pool = ti.SharedMemoryPool(byte_size=100_000); kept = pool.empty('FP32', (4,));"
        " handle = kept.share(pool); result = (pool.name, handle)"
    )
    reader.run("array = handle.open().numpy()", handle=handle)
    reader.end()
    assert (FOLDER / name).exists()
    assert creator.run("del kept, handle; result = pool.byte_size - pool.free_byte_size") == 0
    creator.end()
    assert not (FOLDER / name).exists()
    assert creator.process.returncode == reader.process.returncode == 0


def test_everything_is_unlinked_at_exit() -> None:
    result = run_python("""
        import numpy as np, triton_inprocess as ti
        pool = ti.SharedMemoryPool(byte_size=1000)
        other = ti.SharedMemoryPool(byte_size=1000)
        second = ti.SharedMemoryPool(other.name, create=False)
        tensor = pool.empty("FP32", (4,))
        handle = tensor.share(pool)
        array = handle.open().numpy()
        handle.open().share(second)
        print(pool.name, other.name)
    """)
    assert (result.returncode, result.stderr) == (0, "")
    for name in result.stdout.split():
        assert not (FOLDER / name).exists()


@pytest.mark.usefixtures("runtime")
def test_everything_is_unlinked_at_exit_with_a_server_and_by_an_exception() -> None:
    result = run_python("""
        import numpy as np, triton_inprocess as ti
        pool = ti.SharedMemoryPool(byte_size=1000)
        print(pool.name, flush=True)
        server = ti.Server().start()
        model = server.add_model(lambda x: x, name="m", inputs={"x": ("FP32", (4,))}, outputs={"y": ("FP32", (4,))})
        tensor = pool.empty("FP32", (4,))
        (response,) = model.infer(inputs={"x": tensor})
        raise SystemExit(3)
    """)
    assert result.returncode == 3
    assert "leak" not in result.stderr
    assert not (FOLDER / result.stdout.strip()).exists()


def test_after_a_crash_the_next_one_removes_what_is_left(peer: Peer) -> None:
    name = peer.run("pool = ti.SharedMemoryPool(byte_size=1000); kept = pool.empty('FP32', (4,)); result = pool.name")
    peer.kill()
    # By opening it. (Other tests make pools meanwhile, and may have removed it by then.)
    with pytest.raises(ti.NotFoundError, match=name):
        ti.SharedMemoryPool(name, create=False)
    assert not (FOLDER / name).exists()


def test_after_a_crash_the_name_can_be_used_again(start_peer: Callable[[], Peer]) -> None:
    name = f"triton-inprocess-crash-{os.getpid()}"
    dead = start_peer()
    dead.run("pool = ti.SharedMemoryPool(name, 1000); kept = pool.empty('FP32', (4,))", name=name)
    dead.kill()
    with ti.SharedMemoryPool(name, 1000) as pool:
        assert pool.free_byte_size == pool.byte_size
    dead = start_peer()
    dead.run("pool = ti.SharedMemoryPool(name, 1000)", name=name)
    dead.kill()
    ti.SharedMemoryPool(byte_size=1).close()  # of any name
    assert not (FOLDER / name).exists()


def test_a_killed_reader_holds_nothing(pool: ti.SharedMemoryPool, start_peer: Callable[[], Peer]) -> None:
    for _ in range(3):
        dead = start_peer()
        handles = [filled(pool, 1000).share(pool) for _ in range(10)]
        dead.run("tensors = [handle.open() for handle in handles]; own = handles[0].open().share", handles=handles)
        dead.run("pool = ti.SharedMemoryPool(name, create=False); own = pool.empty('FP32', (8000,))", name=pool.name)
        handles.clear()
        used = pool.byte_size - pool.free_byte_size
        assert used == 10 * (HEADER + 4032) + HEADER + 32_000
        dead.kill()
        # Whoever needs memory gets it, without having asked for what is free.
        assert pool.empty("UINT8", (pool.byte_size - HEADER,)).size == pool.byte_size - HEADER
    assert pool.free_byte_size == pool.byte_size


def test_a_holder_of_the_lock_that_is_killed_wedges_nobody(pool: ti.SharedMemoryPool) -> None:
    program = """
import fcntl, os, struct, sys, time
descriptor = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(descriptor, fcntl.F_OFD_SETLKW, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, int(sys.argv[2]), 1, 0))
print("locked", flush=True)
time.sleep(100)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path_of(pool)), str(OPERATION)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        tensors: list[ti.Tensor] = []
        thread = threading.Thread(target=lambda: tensors.append(filled(pool)))
        thread.start()
        time.sleep(0.2)
        assert not tensors
        process.kill()
        thread.join(timeout=20)
    assert len(tensors) == 1


def test_kill_9_at_any_moment_harms_nobody(pool: ti.SharedMemoryPool) -> None:
    program = """
import random, sys, triton_inprocess as ti
pool = ti.SharedMemoryPool(sys.argv[1], create=False)
print("ready", flush=True)
live = []
while True:
    try:
        live.append(pool.empty("UINT8", (random.randrange(5000),)))
        live.append(live[-1].share(pool))
    except ti.UnavailableError:
        live.clear()
    if len(live) > 5:
        live.pop(random.randrange(len(live)))
"""
    kept = filled(pool, 100, value=5)
    chosen = random.Random(1)
    for _ in range(12):
        with subprocess.Popen([sys.executable, "-c", program, pool.name], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            end = time.monotonic() + chosen.random() * 0.02
            while time.monotonic() < end:
                with contextlib.suppress(ti.UnavailableError):
                    filled(pool, chosen.randrange(500))
            process.send_signal(signal.SIGKILL)
        assert pool.free_byte_size == pool.byte_size - HEADER - 448
        assert np.all(kept.numpy() == 5)
    del kept


def test_processes_allocate_at_once(pool: ti.SharedMemoryPool, start_peer: Callable[[], Peer]) -> None:
    code = """
pool = ti.SharedMemoryPool(name, create=False)
wrong = 0
for i in range(2000):
    try:
        tensor = pool.empty("UINT32", (1 + i * 7 % 900,))
    except ti.UnavailableError:
        continue
    array = tensor.numpy()
    array[:] = os.getpid()
    wrong += (array != os.getpid()).any().item()
del tensor, array
pool.close()
result = wrong
"""
    peers = [start_peer() for _ in range(3)]
    for peer in peers:
        peer.begin(code, name=pool.name)
    assert [peer.finish() for peer in peers] == [0, 0, 0]


def test_threads_allocate_at_once(pool: ti.SharedMemoryPool) -> None:
    failures: list[object] = []

    def work(value: int) -> None:
        try:
            for i in range(500):
                handle = ti.Tensor.from_any(np.full(1 + i * 7 % 900, value, np.uint8)).share(pool)
                if not np.all(handle.open().numpy() == value):
                    failures.append(value)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_no_more_processes_than_there_are_places_for() -> None:
    with ti.SharedMemoryPool(byte_size=1) as pool:
        opened = [ti.SharedMemoryPool(pool.name, create=False) for _ in range(255)]
        with pytest.raises(ti.UnavailableError, match="open 256 times already"):
            ti.SharedMemoryPool(pool.name, create=False)
        tensors = [filled(each) for each in opened[200:210]]
        opened[7].close()
        ti.SharedMemoryPool(pool.name, create=False).close()
        del tensors
        for each in opened:
            each.close()
        assert pool.free_byte_size == pool.byte_size


# -- fork --------------------------------------------------------------------------------------------------------------


def test_a_forked_child_holds_what_its_parent_held() -> None:
    result = run_python("""
        import os, triton_inprocess as ti
        pool = ti.SharedMemoryPool(byte_size=100_000)
        tensor = pool.empty("FP32", (1000,))
        tensor.numpy()[:] = 1
        handle = tensor.share(pool)
        dropped, go = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.read(dropped[0], 1)
            # The parent has let go and used all that is free.
            assert (tensor.numpy() == 1).all()
            assert (handle.open().numpy() == 1).all()
            del tensor
            assert pool.free_byte_size == 0  # the handle is left
            del handle
            own = pool.empty("FP32", (1000,))
            own.numpy()[:] = 3
            os.write(go[1], b"x")
            os._exit(0)
        del tensor, handle
        others = []
        for size in (10_000, 1000, 100, 10, 0):
            try:
                while True:
                    others.append(pool.empty("FP32", (size,)))
                    others[-1].numpy()[:] = 2
            except ti.UnavailableError:
                pass
        assert pool.free_byte_size == 0
        os.write(dropped[1], b"x")
        os.read(go[0], 1)
        assert os.waitpid(child, 0)[1] == 0
        assert all((each.numpy() == 2).all() for each in others)
        del others
        assert pool.free_byte_size == pool.byte_size
        print(pool.name)
    """)
    assert (result.returncode, result.stderr) == (0, "")
    assert not (FOLDER / result.stdout.strip()).exists()


def test_a_forked_child_outlives_its_killed_parent(start_peer: Callable[[], Peer]) -> None:
    peer = start_peer()
    with ti.SharedMemoryPool(byte_size=100_000) as pool:
        handle = filled(pool, 1000, value=7).share(pool)
        child = peer.run(
            "array = handle.open().numpy()\n"
            "import time\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    while not os.path.exists(flag): time.sleep(0.01)\n"
            "    os._exit(0 if (array == 7).all() and os.unlink(flag) is None else 1)\n"
            "result = child",
            handle=handle,
            flag=f"/tmp/triton-inprocess-flag-{os.getpid()}",
        )
        del handle
        peer.kill()
        # The parent's holder is dead, the child's is not.
        assert pool.byte_size - pool.free_byte_size == HEADER + 4032
        others = [filled(pool, 1000, value=1) for _ in range(10)]
        flag = Path(f"/tmp/triton-inprocess-flag-{os.getpid()}")
        flag.touch()
        end = time.monotonic() + 20
        while Path(f"/proc/{child}").exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert not flag.exists()  # what the child saw was right
        del others
        assert pool.free_byte_size == pool.byte_size


def test_a_child_without_a_place_raises() -> None:
    result = run_python("""
        import os, triton_inprocess as ti
        pool = ti.SharedMemoryPool(byte_size=100_000)
        opened = [ti.SharedMemoryPool(pool.name, create=False) for _ in range(255)]
        tensor = pool.empty("FP32", (4,))
        tensor.numpy()[:] = 1
        child = os.fork()
        if child == 0:
            for use in (lambda: pool.free_byte_size, lambda: pool.empty("FP32", (4,)), lambda: tensor.share(pool)):
                try:
                    use()
                except ti.UnavailableError as error:
                    assert "forked" in str(error), error
                else:
                    os._exit(1)
            assert tensor.numpy().tolist() == [1] * 4
            del tensor
            opened.clear()
            pool.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert tensor.numpy().tolist() == [1] * 4
        assert pool.free_byte_size == pool.byte_size - 128
    """)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_child_that_ends_as_usual_leaves_the_name_to_its_parent() -> None:
    result = run_python("""
        import os, sys, triton_inprocess as ti
        pool = ti.SharedMemoryPool(byte_size=100_000)
        tensor = pool.empty("FP32", (4,))
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.path.exists("/dev/shm" + pool.key)
        tensor.share(pool)
        print(pool.name)
    """)
    assert (result.returncode, result.stderr) == (0, "")
    assert not (FOLDER / result.stdout.strip()).exists()


def test_a_pool_is_not_kept_by_programs_that_are_started() -> None:
    with ti.SharedMemoryPool(byte_size=1) as pool:
        process = subprocess.Popen(["sleep", "100"])
    try:
        assert not path_of(pool).exists()
    finally:
        process.kill()
        process.wait()


# -- what is damaged or foreign ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def segment(content: bytes) -> Iterator[str]:
    """Shared memory with that content, used by a process that lives."""
    path = FOLDER / f"triton-inprocess-damaged-{os.getpid()}"
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDWR)
    lock(descriptor, USER, fcntl.F_RDLCK)
    try:
        yield path.name
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def content() -> bytes:
    """That of a pool with some tensors."""
    with ti.SharedMemoryPool(byte_size=8 * KIB) as pool:
        tensors = [filled(pool, count) for count in (10, 100, 1000)]
        del tensors[1]
        return path_of(pool).read_bytes()


def test_a_whole_copy_can_be_opened(content: bytes) -> None:
    with segment(content) as name, ti.SharedMemoryPool(name, create=False) as pool:
        assert pool.free_byte_size == pool.byte_size == 8 * KIB
        filled(pool)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: b"", "made by something else"),
        (lambda content: content[:4], "made by something else"),
        (lambda content: b"x" + content[1:], "made by something else"),
        (lambda content: content[:8], "made by something else"),
        (lambda content: content[:8] + b"\7" + content[9:], "another version"),
        (lambda content: content[:4095], "it has 4095 bytes, but claims"),
        (lambda content: content[:-1], "it has 12287 bytes, but claims to have 4096 and 8192"),
        (lambda content: content[:-4096], "it has 8192 bytes, but claims to have 4096 and 8192"),
        (lambda content: content + b"\0", "it has 12289 bytes"),
        (lambda content: content[:24] + struct.pack("<Q", 0) + content[32:4096], "claims to have 4096 and 0"),
        (lambda content: content[:24] + struct.pack("<Q", 2**64 - 4096) + content[32:], "claims to have"),
    ],
)
def test_what_is_no_whole_pool_is_not_opened(content: bytes, damage: Callable[[bytes], bytes], message: str) -> None:
    with segment(damage(content)) as name:
        with pytest.raises(ti.InvalidArgumentError, match=message):
            ti.SharedMemoryPool(name, create=False)
        assert (FOLDER / name).exists()


@pytest.mark.parametrize(
    ("offset", "value"),
    [(0, 0), (8, 0), (8, 1), (8, 63), (8, 65), (8, 8192 + 64), (8, 2**64 - 64), (8, 2**63), (128, 1), (136, 2**40)],
)
def test_a_damaged_pool_says_where(content: bytes, offset: int, value: int) -> None:
    at = HEAP + offset
    with segment(content[:at] + struct.pack("<Q", value) + content[at + 8 :]) as name:
        for _ in range(2):  # whoever fails lets go of the lock
            with pytest.raises(ti.InternalError, match=f"damaged at offset {offset // 128 * 128} of its blocks"):
                ti.SharedMemoryPool(name, create=False)


@settings(deadline=None, max_examples=150)
@given(
    damage=st.lists(
        st.tuples(
            st.integers(0, 40).map(lambda i: i * 8) | st.integers(0, 8 * KIB - 8),
            st.integers(0, 2**64 - 1) | st.integers(0, 300).map(lambda i: i * 64) | st.integers(0, 2),
        ),
        min_size=1,
        max_size=3,
    ),
    steps=st.lists(st.integers(0, 3000), max_size=5),
)
def test_a_pool_damaged_in_use_never_crashes(damage: list[tuple[int, int]], steps: list[int]) -> None:
    with ti.SharedMemoryPool(byte_size=8 * KIB) as pool:
        tensors = [filled(pool, count) for count in (1, 10, 100)]
        handle = tensors[1].share(pool)
        del tensors[1]
        with path_of(pool).open("r+b") as file:
            for offset, value in damage:
                file.seek(HEAP + offset)
                file.write(struct.pack("<Q", value))
        for action in (
            lambda: pool.free_byte_size,
            handle.open,
            *(lambda n=n: pool.empty("UINT8", (n,)) for n in steps),
        ):
            with contextlib.suppress(ti.TritonError):
                result = action()  # type: ignore[operator]
                if isinstance(result, ti.Tensor):
                    begin = tensors[0].data_ptr - HEADER
                    assert begin <= result.data_ptr <= result.data_ptr + result.size <= begin + pool.byte_size
                    tensors.append(result)
        with contextlib.suppress(ti.TritonError):
            ti.SharedMemoryPool(pool.name, create=False).close()


def test_a_pool_that_is_cut_raises() -> None:
    with ti.SharedMemoryPool(byte_size=64 * KIB) as pool:
        os.truncate(path_of(pool), 8 * KIB)
        with pytest.raises(ti.UnavailableError, match=r"of 69632 bytes was cut to 8192"):
            pool.empty("UINT8", (20_000,))
        with pytest.raises(ti.InvalidArgumentError, match="it has 8192 bytes"):
            ti.SharedMemoryPool(pool.name, create=False)


def test_a_closed_descriptor_is_noticed() -> None:
    result = run_python("""
        import os, triton_inprocess as ti
        pool = ti.SharedMemoryPool(byte_size=1000)
        tensor = pool.empty("FP32", (4,))
        os.closerange(3, 100)
        with open("/dev/null") as other:
            for use in (lambda: pool.free_byte_size, lambda: pool.empty("FP32", (4,)), pool.unlink):
                try:
                    use()
                except ti.UnavailableError as error:
                    assert "closed by other code" in str(error), error
                else:
                    raise AssertionError
        os.unlink("/dev/shm" + pool.key)
    """)
    assert (result.returncode, result.stderr) == (0, "")
