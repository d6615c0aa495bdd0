"""Tensors in GPU memory that processes share by CUDA's IPC handles, against the fake libcuda of tests/fake_cuda."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import fake_cuda
import pytest
from helpers_peer import Peer
from test_devices import PRELUDE

import triton_inprocess as ti

TESTS = Path(__file__).resolve().parent

MORE = """
import pickle


def lives(kind="DeviceMemory"):
    gc.collect()
    for device in range(2):
        cuda.wait_for_all(device)  # what is freed in a stream's order
    return cuda.live(kind)


def is_read_only(tensor):
    return tensor.__cuda_array_interface__["data"][1]


def bytes_of(tensor):
    return cuda.read(tensor.data_ptr, tensor.size)


def forged(handle, **changes):
    '''The handle with other values, as a pickle may have them.'''
    names = ["ipc_handle", "device", "offset", "byte_size", "read_only", "process", "number"]
    location, data_type, shape = handle.__getstate__()
    where = {**dict(zip(names, location, strict=True)), "data_type": data_type, "shape": shape, **changes}
    rest = where.pop("data_type"), where.pop("shape")
    result = ti.SharedTensor.__new__(ti.SharedTensor)
    result.__setstate__((tuple(where.values()), *rest))
    return result
"""


class GpuPeer(Peer):
    """Another process, whose driver is the fake."""

    def __init__(self, library: Path) -> None:
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
        super().__init__(TRITON_INPROCESS_CUDA=str(library), PYTHONPATH=path)
        self.run(PRELUDE + MORE)


@pytest.fixture(scope="session")
def library() -> Path:
    return fake_cuda.build()


@pytest.fixture
def start_peer(library: Path) -> Iterator[Callable[[], GpuPeer]]:
    peers: list[GpuPeer] = []

    def start() -> GpuPeer:
        peers.append(GpuPeer(library))
        return peers[-1]

    yield start
    for peer in peers:
        peer.end()


@pytest.fixture
def owner(start_peer: Callable[[], GpuPeer]) -> GpuPeer:
    """Who shares."""
    return start_peer()


@pytest.fixture
def reader(start_peer: Callable[[], GpuPeer]) -> GpuPeer:
    """Whom it is shared with."""
    return start_peer()


def nothing_is_left(*peers: GpuPeer) -> None:
    """What they have is theirs to delete; nothing of it lives on, and no rule was broken."""
    names = "('there', 'again', 'here', 'handle', 'source', 'part', 'kept', 'received', 'copy')"
    for peer in reversed(peers):
        assert peer.run(
            f"for name in {names}:\n    globals().pop(name, None)\n"
            "checked(); result = [lives(kind) for kind in ('DeviceMemory', 'ImportedMemory', 'PinnedMemory', 'Event')]"
        ) == [0, 0, 0, 0]


ARRAYS = [
    *(f"np.arange(6).reshape(2, 3).astype('{name}')" for name in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8")),
    *(f"np.linspace(-1, 1, 6, dtype='{name}').reshape(3, 1, 2)" for name in ("f2", "f4", "f8")),
    "np.array([True, False])",
    "np.array(7, np.int32)",
    "np.zeros((2, 0, 3), np.float32)",
    "np.zeros((0,), np.int64)",
]


def test_every_type_and_shape_goes_to_another_process(owner: GpuPeer, reader: GpuPeer) -> None:
    for device in ("gpu:0", "gpu:1"):
        for array in ARRAYS:
            handle = owner.run(
                "source = tensor(eval(array)).to_device(device); handle = source.share(); result = handle",
                array=array,
                device=device,
            )
            assert handle.memory_type is ti.MemoryType.GPU
            assert f"gpu:{handle.memory_type_id}" == device
            assert reader.run(
                "there = handle.open(); back = there.to_host().numpy(); array = eval(array); "
                "result = (there.memory_type, f'gpu:{there.memory_type_id}', back.dtype == array.dtype, "
                "back.shape == array.shape, np.array_equal(back, array)); del there",
                handle=handle,
                array=array,
            ) == (ti.MemoryType.GPU, device, True, True, True)
    nothing_is_left(owner, reader)


def test_words_and_bfloat16_go_to_another_process(owner: GpuPeer, reader: GpuPeer) -> None:
    words = "Tensor.from_bytes_array([[b'a', b''], [b'x' * 1000, bytes(2)]])"
    handle = owner.run(f"handle = {words}.to_device('gpu').share(); result = handle")
    assert handle.data_type is ti.DataType.BYTES
    assert handle.shape == (2, 2)
    assert reader.run("there = handle.open(); result = there.to_host().tolist()", handle=handle) == [
        [b"a", b""],
        [b"x" * 1000, bytes(2)],
    ]
    handle = owner.run("handle = Tensor.from_any([1.5, -2], 'BF16').to_device('gpu').share(); result = handle")
    assert reader.run("there = handle.open(); result = there.to_host().tolist()", handle=handle) == [1.5, -2]
    nothing_is_left(owner, reader)


def test_nothing_is_copied(owner: GpuPeer, reader: GpuPeer) -> None:
    handle = owner.run("""
address = cuda.allocate(b"abcdefgh", 1)
part = on_gpu(b"cdef", device=1, address=address + 2)
handle = part.share()
here = handle.open()
assert here.data_ptr == address + 2 and not any(line.startswith("cuMemcpy") for line in cuda.log())
assert lives() == 1
result = handle
""")
    assert (handle.offset, handle.byte_size, handle.memory_type_id) == (2, 4, 1)
    assert (
        reader.run(
            "there = handle.open(writable=True); again = handle.open(); assert again.data_ptr == there.data_ptr\n"
            "result = bytes_of(there); cuda.write(there.data_ptr, b'CD')",
            handle=handle,
        )
        == b"cdef"
    )
    assert owner.run("cuda.write(here.data_ptr + 3, b'F'); result = cuda.read(address, 8)") == b"abCDeFgh"
    assert reader.run("result = bytes_of(again)") == b"CDeF"
    assert reader.run("del there; result = lives('ImportedMemory')") == 1
    assert reader.run("result = bytes_of(again); del again") == b"CDeF"
    assert reader.run("checked(); result = lives('ImportedMemory')") == 0
    owner.run("del part, here, handle; cuda.free(address)")
    nothing_is_left(owner, reader)


def test_pooled_memory_is_copied_once(owner: GpuPeer, reader: GpuPeer) -> None:
    first, second = owner.run("""
source = tensor(X).to_device("gpu:1")
assert cuda.calls("cuMemAlloc") == 0
first = source.share()
here = first.open()
assert here.data_ptr != source.data_ptr and here.memory_type_id == 1
second = here.share()
assert second.open().data_ptr == here.data_ptr
assert cuda.calls("cuMemAlloc") == 1
del source, here
result = first, second
""")
    assert (first.ipc_handle, first.offset) == (second.ipc_handle, second.offset)
    for handle in (first, second):
        assert reader.run("result = handle.open().to_host().tolist()", handle=handle) == [[0, 1, 2], [3, 4, 5]]
    owner.run("del first")
    assert reader.run("result = handle.open().to_host().tolist()") == [[0, 1, 2], [3, 4, 5]]
    owner.run("del second")
    nothing_is_left(owner, reader)


def test_without_memory_pools_nothing_is_copied(owner: GpuPeer, reader: GpuPeer) -> None:
    handle = owner.run(
        "cuda.set_memory_pools(False); source = tensor(X).to_device('gpu'); handle = source.share()\n"
        "assert cuda.calls('cuMemAlloc') == 1 and handle.open().data_ptr == source.data_ptr; result = handle"
    )
    assert reader.run("result = handle.open().to_host().tolist()", handle=handle) == [[0, 1, 2], [3, 4, 5]]
    nothing_is_left(owner, reader)


def test_work_on_the_default_stream_is_waited_for(owner: GpuPeer, reader: GpuPeer) -> None:
    for made in ("on_gpu(bytes(8))", "tensor(np.zeros(8, np.uint8)).to_device('gpu')"):
        handle = owner.run(
            f"source = {made}; cuda.delay(200); cuda.fill(source.data_ptr, 7, 8, LEGACY); handle = source.share()\n"
            "cuda.delay(0); result = handle"
        )
        assert reader.run("result = bytes_of(handle.open())", handle=handle) == bytes([7] * 8)


def test_other_threads_run_while_one_shares(owner: GpuPeer) -> None:
    ticks = owner.run("""
source = on_gpu(bytes(8))
cuda.delay(500)
cuda.fill(source.data_ptr, 7, 8, LEGACY)
shared = threading.Event()
def share():
    global handle
    handle = source.share()
    shared.set()
thread = threading.Thread(target=share)
thread.start()
result = 0
while not shared.is_set():
    time.sleep(0.001)
    result += 1
thread.join()
assert bytes_of(handle.open()) == bytes([7] * 8)
""")
    assert ticks > 20


def test_a_handle_holds_and_its_pickle_does_not(owner: GpuPeer, reader: GpuPeer) -> None:
    handle = owner.run(
        "source = tensor(X).to_device('gpu'); handle = source.share(); del source; result = handle\n"
        "received = pickle.loads(pickle.dumps(handle)); assert received.open().data_ptr == handle.open().data_ptr"
    )
    assert reader.run("result = handle.open().to_host().tolist()", handle=handle) == [[0, 1, 2], [3, 4, 5]]
    owner.run("here = handle.open(); del handle; assert lives() == 1 and np.array_equal(here.to_host().numpy(), X)")
    assert owner.run("received.open()").startswith("NotFoundError: the shared tensor is no more")
    assert owner.run("del here; result = lives()") == 0
    assert reader.run("handle.open()").startswith("InvalidArgumentError: opening another process's memory of GPU 0")
    # Nor does it open as a successor.
    owner.run("kept = tensor(X + 1).to_device('gpu').share()")
    assert owner.run("received.open()").startswith("NotFoundError")
    nothing_is_left(owner, reader)


def test_processes_that_share_with_each_other_mix_nothing_up(owner: GpuPeer, reader: GpuPeer) -> None:
    """Their first exports have the same number, and the same process id in two containers."""
    share = "kept = tensor(np.full(4, value, np.int32)).to_device('gpu').share(); result = kept"
    first, second = owner.run(share, value=1), reader.run(share, value=2)
    assert first.__getstate__()[0][-1] == second.__getstate__()[0][-1]
    for peer, own, others in ((owner, first, second), (reader, second, first)):
        for handle, calls in ((own, 0), (others, 1)):
            values = "result = (handle.open().to_host().tolist()[0], cuda.calls('cuIpcOpenMemHandle'))"
            assert peer.run(values, handle=handle) == (1 if handle is first else 2, calls)
    nothing_is_left(owner, reader)


def test_what_was_opened_is_shared_on_as_a_copy(owner: GpuPeer, start_peer: Callable[[], GpuPeer]) -> None:
    reader, third = start_peer(), start_peer()
    handle = owner.run("handle = tensor(X).to_device('gpu:1').share(); result = handle")
    on = reader.run("there = handle.open(); copy = there.share(); del there, handle; result = copy", handle=handle)
    assert reader.run("result = lives('ImportedMemory')") == 0
    owner.run("del handle")
    for peer in (owner, third):
        assert peer.run("result = on.open().to_host().tolist()", on=on) == [[0, 1, 2], [3, 4, 5]]
    nothing_is_left(reader, owner, third)


def test_an_empty_tensor(owner: GpuPeer, reader: GpuPeer, start_peer: Callable[[], GpuPeer]) -> None:
    handle = owner.run("handle = tensor(np.zeros((3, 0), np.int8)).to_device('gpu:1').share(); result = handle")
    assert (handle.byte_size, handle.offset, handle.ipc_handle) == (0, 0, bytes(64))
    for peer in (owner, reader):
        assert peer.run(
            "there = handle.open(writable=True); result = (there.shape, there.size, there.memory_type_id, "
            "there.to_host().tolist())",
            handle=handle,
        ) == ((3, 0), 0, 1, [[], [], []])
    nothing_is_left(owner, reader)


def test_what_is_opened_is_read_only_unless_asked(owner: GpuPeer, reader: GpuPeer) -> None:
    handle = owner.run("kept = tensor(X).to_device('gpu').share(); result = kept")
    modes = "result = [is_read_only(each) for each in (handle.open(), handle.open(writable=True))]"
    for peer in (owner, reader):
        assert peer.run(modes, handle=handle) == [True, False]


def test_memory_that_is_only_lent_is_not_written_to(owner: GpuPeer, reader: GpuPeer) -> None:
    handle = owner.run("""
class Array:
    __cuda_array_interface__ = {"shape": (8,), "typestr": "|u1", "data": (cuda.allocate(b"abcdefgh"), False),
                                "version": 3}
source = Tensor.from_any(Array())
kept = source.share()
assert kept.open().data_ptr == Array.__cuda_array_interface__["data"][0]
result = kept
""")
    for peer in (owner, reader):
        error = peer.run("handle.open(writable=True)", handle=handle)
        assert error.startswith("InvalidArgumentError: writable must be False")
        assert peer.run("there = handle.open(); result = (is_read_only(there), bytes_of(there))") == (True, b"abcdefgh")
    # What is not exported itself is a copy, which is nobody's.
    assert (
        owner.run("""
class Pooled:
    here = tensor(X).to_device("gpu")
    __cuda_array_interface__ = here.__cuda_array_interface__
result = is_read_only(Tensor.from_any(Pooled()).share().open(writable=True))
""")
        is False
    )


def test_a_handle_tells_what_it_is(owner: GpuPeer) -> None:
    handle = owner.run("handle = on_gpu(bytes(24), (2, 3), ti.DataType.FP32, 1).share(); result = handle")
    assert (handle.memory_type, handle.memory_type_id) == (ti.MemoryType.GPU, 1)
    assert (handle.offset, handle.byte_size) == (0, 24)
    assert (handle.data_type, handle.shape) == (ti.DataType.FP32, (2, 3))
    assert len(handle.ipc_handle) == 64
    assert owner.run("result = handle.ipc_handle") == handle.ipc_handle
    with pytest.raises(ti.UnsupportedError, match=r"GPU memory, which has no key: .* ipc_handle"):
        _ = handle.key
    expected = "SharedTensor(memory_type=GPU, memory_type_id=1, offset=0, byte_size=24, data_type=FP32, shape=[2, 3])"
    assert repr(handle) == repr(pickle.loads(pickle.dumps(handle))) == expected
    assert all(len(pickle.dumps(handle, protocol)) < 600 for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1))


# What pickles may say.


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ("ipc_handle=bytes(63)", "ipc_handle must have 64 bytes, not 63"),
        ("ipc_handle=bytes(65)", "ipc_handle must have 64 bytes, not 65"),
        (
            "ipc_handle=bytearray(64)",
            "str (the key of shared memory) or bytes (an IPC handle), not bytearray",
        ),
        ("ipc_handle=None", "an IPC handle), not NoneType"),
        ("ipc_handle='/a'", "in host memory has 5 values, not 7"),
        ("device=-1", "memory_type_id must be from 0"),
        ("device=2**31", "memory_type_id must be from 0"),
        ("device=True", "memory_type_id must be an int"),
        ("offset=-1", "offset must be from 0"),
        ("offset=2**63", "offset must be from 0"),
        ("offset=1.5", "offset must be an int"),
        ("byte_size=-1", "byte_size must be from 0"),
        ("byte_size=25", "has 24 bytes, but byte_size is 25"),
        ("byte_size=0", "has 24 bytes, but byte_size is 0"),
        ("read_only=0", "read_only must be a bool"),
        ("process=-1", "process must be from 0"),
        ("process=2**64", "process must be from 0"),
        ("number='1'", "number must be an int"),
        ("more=1", "in GPU memory has 7 values, not 8"),
        ("data_type=0", "unknown data type 0"),
        ("data_type=15", "data_type must be from 0"),
        ("shape=(7,)", "has 28 bytes"),
        ("shape=(-6,)", "shape must be from 0"),
        ("shape=(2**62, 2**62)", "too large"),
    ],
)
def test_a_forged_pickle_is_refused(changes: str, error: str, tells: GpuPeer) -> None:
    text = tells.run(
        f"try:\n    forged(handle, {changes})\nexcept (ValueError, TypeError) as error:\n    result = str(error)"
    )
    assert text is not None
    assert error in text


@pytest.fixture(scope="module")
def tells(library: Path) -> Iterator[GpuPeer]:
    """One process for many tests, which has a handle."""
    peer = GpuPeer(library)
    peer.run("handle = on_gpu(bytes(24), (6,), ti.DataType.FP32).share()")
    yield peer
    peer.end()


@pytest.mark.parametrize("location", ["()", "(b'',)", "('/a',)", "[1]", "None", "b'abc'"])
def test_a_forged_location_is_refused(location: str, tells: GpuPeer) -> None:
    assert (
        tells.run(f"""
result = "accepted"
for state in (({location}, 11, (6,)), ({location},), ()):
    try:
        ti.SharedTensor.__new__(ti.SharedTensor).__setstate__(state)
    except (ValueError, TypeError):
        result = "refused"
    else:
        raise AssertionError
""")
        == "refused"
    )


@pytest.mark.parametrize(
    ("changes", "here", "there"),
    [
        ("offset=5", "at offset 5 are not in what was shared, which is 4", "claims 4 bytes at offset 5"),
        ("offset=1", "at offset 1 are not in what was shared", None),
        ("offset=2**63 - 1", "are not in what was shared", f"at offset {2**63 - 1}, but the allocation has 8"),
        ("byte_size=7, shape=(7,)", "7 bytes at offset 2 are not in", "claims 7 bytes at offset 2"),
        ("byte_size=2**60, shape=(2**60,)", "are not in what was shared", "the allocation has 8"),
        ("device=7", "there is no GPU 7", "there is no GPU 7"),
        ("device=0", None, "opening another process's memory of GPU 0"),
        ("ipc_handle=bytes(64)", None, "opening another process's memory of GPU 1"),
        ("number=2**64 - 1", "NotFoundError: the shared tensor is no more", None),
        ("process=1", "opening another process's memory of GPU 1", None),
    ],
)
def test_what_was_not_shared_is_not_opened(
    changes: str, here: str | None, there: str | None, sharer: GpuPeer, opener: GpuPeer
) -> None:
    """A process that was given the handle of an allocation may read all of that, as the driver has it."""
    handle = sharer.run("result = handle")
    for peer, error in ((sharer, here), (opener, there)):
        text = peer.run(f"opened = forged(handle, {changes}).open(); del opened", handle=handle)
        assert (text is None) == (error is None), text
        assert error is None or error in text
        peer.run("checked()")
    assert opener.run("result = lives('ImportedMemory')") == 0


@pytest.fixture(scope="module")
def sharer(library: Path) -> Iterator[GpuPeer]:
    peer = GpuPeer(library)
    peer.run("whole = cuda.allocate(b'abcdefgh', 1); kept = on_gpu(b'cdef', device=1, address=whole + 2).share()")
    peer.run("handle = kept")
    yield peer
    peer.end()


@pytest.fixture(scope="module")
def opener(library: Path) -> Iterator[GpuPeer]:
    peer = GpuPeer(library)
    yield peer
    peer.end()


# Processes and failures.


def test_a_forked_child_is_told_and_frees_nothing(owner: GpuPeer) -> None:
    owner.run("""
handle = tensor(X).to_device("gpu").share()
received = pickle.loads(pickle.dumps(handle))
empty = tensor(np.zeros(0, np.int8)).to_device("gpu").share()
here = handle.open()
child = os.fork()
if child == 0:
    status = 1
    try:
        for action in (handle.open, received.open, empty.open, here.share):
            text = error_of(action, ti.UnavailableError)
            assert "forked" in text, text
        del handle, here
        gc.collect()
        status = 0
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(handle.open().to_host().numpy(), X)
del empty
""")
    nothing_is_left(owner)


def test_a_process_without_a_gpu_is_told(owner: GpuPeer) -> None:
    handle = owner.run("handle = tensor(X).to_device('gpu').share(); result = handle")
    peer = Peer(TRITON_INPROCESS_CUDA="/nowhere/libcuda.so.1")
    try:
        assert peer.run("result = handle.shape", handle=handle) == (2, 3)
        assert peer.run("handle.open()").startswith("UnsupportedError: GPU memory needs NVIDIA's driver")
    finally:
        peer.end()


def test_memory_that_no_gpu_has_is_told(owner: GpuPeer) -> None:
    error = owner.run("tensor(X).to_device('gpu'); on_gpu(bytes(16), address=4096).share()")
    assert error.startswith("InvalidArgumentError: asking whether other processes can open the memory")
    error = owner.run("address = cuda.allocate(bytes(8)); on_gpu(bytes(9), address=address).share()")
    assert "buffer has 9 bytes, but the allocation has only 8" in error
    owner.run("cuda.free(address)")
    nothing_is_left(owner)


def test_a_system_without_ipc_is_told(owner: GpuPeer) -> None:
    assert owner.run("""
source = on_gpu(bytes(8))
cuda.fail("cuIpcGetMemHandle", result=801)
source.share()
""").startswith("UnsupportedError: cuIpcGetMemHandle for a buffer of GPU 0")
    assert owner.run("cuda.fail('cuMemAlloc', result=OUT_OF_MEMORY); tensor(X).to_device('gpu').share()").startswith(
        "UnavailableError: allocating 24 bytes on GPU 0"
    )


@pytest.mark.parametrize("pooled", [True, False])
def test_whatever_fails_leaves_nothing_behind(pooled: bool, owner: GpuPeer) -> None:
    owner.run(f"""
cuda.set_memory_pools({pooled})
source = tensor(X).to_device("gpu")
source.share()  # what is called once only is in test_devices.py
cuda.reset()
cuda.set_memory_pools({pooled})
source.share()
names = dict.fromkeys(line.split("(")[0] for line in cuda.log())
assert "cuIpcGetMemHandle" in names and ("cuMemcpyAsync" in names) == {pooled}, names
# What lets go of something cannot be told of.
letting_go = ("cuCtxPopCurrent", "cuEventDestroy", "cuMemFree")
told = []
for name in names:
    cuda.fail(name)
    try:
        handle = source.share()
    except ti.TritonError as error:
        assert "CUDA error 999" in str(error), error
        told.append(name)
    else:
        assert name in letting_go, name
    handle = None
    cuda.reset()
    while cuda.context_depth() != 0 and name == "cuCtxPopCurrent":
        cuda.pop_context()
    cuda.wait_for_all()
    if name not in letting_go:
        checked()
        assert lives() == 1, name
    assert np.array_equal(source.share().open().to_host().numpy(), X), name
assert set(told) == set(names) - set(letting_go), told
""")


def test_an_opening_that_fails_leaves_nothing_behind(owner: GpuPeer, reader: GpuPeer) -> None:
    handle = owner.run("handle = tensor(X).to_device('gpu').share(); result = handle")
    reader.run(
        """
handle.open()
for name in ("cuCtxPushCurrent", "cuIpcOpenMemHandle", "cuMemGetAddressRange"):
    cuda.fail(name)
    text = error_of(handle.open)
    assert "CUDA error 999" in text, text
    cuda.reset()
    checked()
    assert lives("ImportedMemory") == 0
    assert np.array_equal(handle.open().to_host().numpy(), X)
""",
        handle=handle,
    )
    nothing_is_left(owner, reader)


def test_threads(owner: GpuPeer) -> None:
    owner.run("""
failures = []
def work(number):
    try:
        for i in range(30):
            array = np.full(100, number * 1000 + i, np.int32)
            handle = tensor(array).to_device(f"gpu:{i % 2}").share()
            received = pickle.loads(pickle.dumps(handle))
            assert np.array_equal(received.open().to_host().numpy(), array)
            del handle
            error_of(received.open, ti.NotFoundError)
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert failures == [], failures
""")
    nothing_is_left(owner)
