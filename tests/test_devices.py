"""Tensors in GPU memory and pinned memory, against the fake libcuda of tests/fake_cuda; none of it has run on a GPU.

A process has one driver, so every scenario is a process of its own.
"""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fake_cuda
import numpy as np
import pytest
from conftest import run_beside_tests
from fake_triton import make_lacking

import triton_inprocess as ti
from triton_inprocess import DLDeviceType, MemoryType, Tensor

# What every program begins with; `checked` is for its end.
PRELUDE = """
import gc, os, sys, threading, time
import numpy as np
import triton_inprocess as ti
from fake_cuda import LEGACY, OUT_OF_MEMORY, PER_THREAD, FakeCuda
from triton_inprocess import DLDeviceType, MemoryType, Tensor
cuda = FakeCuda(os.environ["TRITON_INPROCESS_CUDA"])
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def tensor(array):
    return Tensor.from_dlpack(array)


def error_of(action, kind=ti.TritonError):
    try:
        action()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def on_gpu(content, shape=None, data_type=ti.DataType.UINT8, device=0, address=None):
    '''A tensor over somebody else's memory.'''
    address = address or cuda.allocate(content, device)
    memory = ti.MemoryBuffer(address, MemoryType.GPU, device, len(content), None)
    return Tensor(data_type, shape or [len(content)], memory)


def checked():
    '''Nothing is left over, and no rule was broken.'''
    gc.collect()
    for device in range(2):
        cuda.wait_for_all(device)
    assert cuda.breaches() == [], cuda.breaches()
    assert cuda.context_depth() == 0
    assert cuda.live("Pending") == 0


def others_run_during(action):
    # This thread goes on while another does something that lasts.
    ticks, done = 0, threading.Event()
    def act():
        action()
        done.set()
    thread = threading.Thread(target=act)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 20, ticks


def nothing_lives():
    checked()
    return [cuda.live(kind) for kind in ("DeviceMemory", "PinnedMemory", "Event")] == [0, 0, 0]
"""

Run = Callable[..., str]


@pytest.fixture(scope="session")
def library() -> Path:
    return fake_cuda.build()


@pytest.fixture
def run(library: Path) -> Run:
    """Runs code in a process whose driver is the fake, or another library; returns what it prints."""

    def execute(code: str, *, driver: str | Path = library, status: int = 0) -> str:
        program = PRELUDE + textwrap.dedent(code)
        return run_beside_tests(program, status=status, TRITON_INPROCESS_CUDA=str(driver)).stdout

    return execute


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INPROCESS_CUDA", "/nowhere/libcuda.so.1")


def tensor() -> Tensor:
    return Tensor.from_dlpack(np.arange(6, dtype=np.float32))


# How devices are spelled.


@pytest.mark.parametrize(
    "device", ["cpu", MemoryType.CPU, (MemoryType.CPU, 0), (DLDeviceType.CPU, 0), (DLDeviceType.CPU, np.int64(0))]
)
def test_a_tensor_that_is_there_is_returned(no_driver: None, device: Any) -> None:
    given = tensor()
    assert given.to_device(device) is given
    assert given.to_host() is given


@pytest.mark.parametrize(
    "device",
    [
        *(
            "",
            "CPU",
            "cuda",
            "cuda:1",
            "gpu:",
            "gpu:-1",
            "gpu: 1",
            "gpu:1 ",
            "gpu:1x",
            "gpu:9999999999",
            "gpu:0x1",
            "cpu:0",
        ),
        *((), (MemoryType.GPU,), (MemoryType.GPU, 0, 0), (MemoryType.CPU, 1), (MemoryType.CPU_PINNED, 1)),
        *((DLDeviceType.CPU, 1), (DLDeviceType.CUDA_HOST, 2), (DLDeviceType.ROCM, 0), (DLDeviceType.CUDA_MANAGED, 0)),
    ],
)
def test_what_is_no_device_is_told(device: Any) -> None:
    with pytest.raises(ValueError, match="device must be 'cpu', 'cpu_pinned', 'gpu', 'gpu:<number>'") as raised:
        tensor().to_device(device)
    assert repr(device) in str(raised.value)


@pytest.mark.parametrize("device", [None, 0, 2, 1.5, b"cpu", ["gpu", 0], {}, DLDeviceType.CUDA, MemoryType])
def test_what_cannot_be_a_device_is_told(device: Any) -> None:
    with pytest.raises(TypeError, match=f"device must be 'cpu'.*not {type(device).__name__}"):
        tensor().to_device(device)


@pytest.mark.parametrize("device", [(2, 0), ("gpu", 0), (None, 0), (MemoryType.GPU, "0"), (MemoryType.GPU, True)])
def test_a_pair_of_other_things_is_told(device: Any) -> None:
    with pytest.raises(TypeError, match=r"device\[[01]\] must be"):
        tensor().to_device(device)


@pytest.mark.parametrize("number", [-1, 2**31, 2**70])
def test_a_number_that_no_device_can_have_is_told(number: int) -> None:
    with pytest.raises(ValueError, match=r"device\[1\] must be from 0 to 2147483647"):
        tensor().to_device((MemoryType.GPU, number))


def test_dlpack_devices_have_the_numbers_of_the_standard() -> None:
    assert (DLDeviceType.CPU, DLDeviceType.CUDA, DLDeviceType.CUDA_HOST) == (1, 2, 3)
    assert DLDeviceType(10) is DLDeviceType.ROCM
    assert tensor().__dlpack_device__() == (DLDeviceType.CPU, 0)


def test_every_spelling_means_its_place(run: Run) -> None:
    run("""
    places = {
        "gpu": (MemoryType.GPU, 0), "gpu:0": (MemoryType.GPU, 0), "gpu:1": (MemoryType.GPU, 1),
        MemoryType.GPU: (MemoryType.GPU, 0), (MemoryType.GPU, 1): (MemoryType.GPU, 1),
        (DLDeviceType.CUDA, 1): (MemoryType.GPU, 1), "cpu_pinned": (MemoryType.CPU_PINNED, 0),
        MemoryType.CPU_PINNED: (MemoryType.CPU_PINNED, 0), (DLDeviceType.CUDA_HOST, 0): (MemoryType.CPU_PINNED, 0),
        (MemoryType.CPU_PINNED, 0): (MemoryType.CPU_PINNED, 0),
    }
    for device, place in places.items():
        moved = tensor(X).to_device(device)
        assert (moved.memory_type, moved.memory_type_id) == place, device
        assert moved.to_device(device) is moved
    del moved
    assert nothing_lives()
    """)


# Where there is no driver, or none that will do.


@pytest.mark.parametrize("device", ["gpu", "cpu_pinned"])
def test_no_driver_is_told(device: str, run: Run) -> None:
    run(
        f"""
    os.environ["TRITON_INPROCESS_CUDA"] = "/nowhere/libcuda.so.1"
    for attempt in range(2):
        text = error_of(lambda: tensor(X).to_device({device!r}), ti.UnsupportedError)
        assert "NVIDIA's driver" in text and "'/nowhere/libcuda.so.1' cannot be loaded" in text, text
        assert "$TRITON_INPROCESS_CUDA" in text, text
    """
    )


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver of its own")
@pytest.mark.parametrize("variable", [None, ""])
def test_the_driver_is_found_by_its_name(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INPROCESS_CUDA", raising=False)
    if variable is not None:
        monkeypatch.setenv("TRITON_INPROCESS_CUDA", variable)
    with pytest.raises(ti.UnsupportedError, match=r"'libcuda\.so\.1' cannot be loaded"):
        tensor().to_device("gpu")


def test_another_library_is_told(run: Run) -> None:
    run("""
    os.environ["TRITON_INPROCESS_CUDA"] = "libm.so.6"
    text = error_of(lambda: tensor(X).to_device("gpu"), ti.UnsupportedError)
    assert "'libm.so.6' is no CUDA driver" in text and "it lacks cuInit, " in text, text
    """)


def test_a_driver_that_lacks_a_function_is_told(run: Run, library: Path, tmp_path: Path) -> None:
    old = make_lacking(library, tmp_path / "libold.so", ["cuMemcpyAsync", "cuIpcOpenMemHandle_v2"])
    run(
        """
    text = error_of(lambda: tensor(X).to_device("gpu"), ti.UnsupportedError)
    assert text.endswith("it lacks cuMemcpyAsync, cuIpcOpenMemHandle_v2"), text
    """,
        driver=old,
    )


def test_no_gpu_is_told(run: Run) -> None:
    run("""
    cuda.set_devices(0)
    text = error_of(lambda: tensor(X).to_device("gpu"), ti.UnsupportedError)
    assert "there is no usable GPU: cuInit" in text and "CUDA_ERROR_NO_DEVICE" in text, text
    cuda.set_devices(1)  # what failed is tried again
    assert tensor(X).to_device("gpu").memory_type is MemoryType.GPU
    """)


def test_a_number_that_no_gpu_has_is_told(run: Run) -> None:
    run("""
    text = error_of(lambda: tensor(X).to_device("gpu:2"), ti.InvalidArgumentError)
    assert text == "there is no GPU 2: this process sees GPU 0 to 1", text
    assert nothing_lives()
    """)


# Copies.


def test_every_way_and_back(run: Run) -> None:
    run("""
    places = ["cpu", "cpu_pinned", "gpu:0", "gpu:1"]
    for first in places:
        for second in places:
            there = tensor(X).to_device(first).to_device(second)
            if there.memory_type is MemoryType.GPU:
                assert cuda.read(there.data_ptr, there.size) == X.tobytes()
            back = there.to_host()
            assert back.memory_type is not MemoryType.GPU
            assert np.array_equal(back.numpy(), X)
            assert back.numpy().flags.writeable == (first != "cpu" or second != "cpu")  # X itself is not
            assert (back is there) == (second in ("cpu", "cpu_pinned"))
            final = there.to_device("cpu")
            assert final.memory_type is MemoryType.CPU and np.array_equal(final.numpy(), X)
            checked()
    assert cuda.calls("cuMemcpyPeerAsync") > 0
    del there, back, final
    assert nothing_lives()
    """)


def test_every_type_and_shape(run: Run) -> None:
    run("""
    import ml_dtypes
    arrays = [np.arange(6).astype(name) for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
        "float64")]
    arrays += [np.array(3, np.float32), np.zeros((0,), np.int8), np.zeros((3, 0, 2), np.float64)]
    arrays += [np.arange(1 << 20, dtype=np.int32).reshape(1, 1 << 10, 1, 1 << 10)]
    for array in arrays:
        for device in ("gpu:1", "cpu_pinned"):
            given = tensor(array)
            moved = given.to_device(device)
            assert (moved.data_type, moved.shape, moved.size) == (given.data_type, given.shape, given.size)
            back = moved.to_host().numpy()
            assert back.dtype == array.dtype and back.shape == array.shape and np.array_equal(back, array)
    words = Tensor.from_string_array([["a", ""], ["long" * 100, "\\0"]])
    back = words.to_device("gpu").to_host().to_string_array()
    assert back.tolist() == [["a", ""], ["long" * 100, "\\0"]]
    halves = Tensor(ti.DataType.BF16, [3], tensor(np.arange(3, dtype=np.uint16)).memory_buffer)
    moved = halves.to_device("gpu")
    assert moved.data_type is ti.DataType.BF16
    assert moved.to_host().numpy().tobytes() == np.arange(3, dtype=np.uint16).tobytes()
    del moved
    assert nothing_lives()
    """)


def test_a_copy_is_of_its_own(run: Run) -> None:
    run("""
    array = X.copy()
    there = tensor(array).to_device("gpu")
    array[:] = 7
    first, second = there.to_host().numpy(), there.to_host().numpy()
    first[:] = 8
    assert np.array_equal(second, X) and np.array_equal(there.to_host().numpy(), X)
    """)


def test_gpu_memory_is_out_of_the_hosts_reach(run: Run) -> None:
    """Otherwise the tests here would not show that nothing of ours touches it."""
    run("import ctypes; ctypes.string_at(tensor(X).to_device('gpu').data_ptr, 1)", status=-signal.SIGSEGV)


def test_work_on_the_default_stream_comes_first(run: Run) -> None:
    run("""
    given = on_gpu(bytes(8))
    for place in ("cpu", "cpu_pinned", "gpu:1"):
        for value in (1, 2):
            cuda.fill(given.data_ptr, value, 8, LEGACY)
            assert given.to_device(place).to_host().numpy().tolist() == [value] * 8, place
    checked()
    """)


def test_without_memory_pools(run: Run) -> None:
    run("""
    cuda.set_memory_pools(False)
    there = tensor(X).to_device("gpu")
    assert np.array_equal(there.to_host().numpy(), X)
    assert cuda.calls("cuMemAlloc") == 1 and cuda.calls("cuMemAllocAsync") == 0
    del there
    assert cuda.calls("cuMemFree") == 1 and nothing_lives()
    """)


def test_a_driver_without_memory_pools(run: Run, library: Path, tmp_path: Path) -> None:
    old = make_lacking(library, tmp_path / "libold.so", ["cuMemAllocAsync"])
    run(
        """
    assert np.array_equal(tensor(X).to_device("gpu:1").to_host().numpy(), X)
    assert cuda.calls("cuMemAlloc") == 1 and cuda.calls("cuMemFree") == 1
    """,
        driver=old,
    )


def test_streams_are_used_again(run: Run) -> None:
    run("""
    for _ in range(50):
        tensor(X).to_device("gpu").to_host()
    assert cuda.calls("cuStreamCreate") <= 2, cuda.calls("cuStreamCreate")
    """)


def test_threads(run: Run) -> None:
    run("""
    failures = []
    def work(number):
        try:
            for i in range(40):
                array = np.full(100, number * 1000 + i, np.int32)
                place = ("gpu:0", "gpu:1", "cpu_pinned")[i % 3]
                assert np.array_equal(tensor(array).to_device(place).to_device("gpu:1").to_host().numpy(), array)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [], failures
    assert nothing_lives()
    """)


def test_other_threads_run_while_one_waits(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    cuda.delay(500)
    others_run_during(there.to_host)
    """)


@pytest.mark.parametrize("pools", [True, False])
def test_other_threads_run_while_memory_is_freed(pools: bool, run: Run) -> None:
    run(f"""
    cuda.set_memory_pools({pools})
    there = tensor(X).to_device("gpu")
    there.__cuda_array_interface__  # lends it
    cuda.delay(500)
    def free():
        global there
        del there
    others_run_during(free)
    cuda.delay(0)
    assert nothing_lives()
    """)


# Failures.


def test_too_little_memory_is_told(run: Run) -> None:
    run("""
    for function, place in (("cuMemAllocAsync", "gpu:1"), ("cuMemHostAlloc", "cpu_pinned")):
        cuda.fail(function, result=OUT_OF_MEMORY)
        text = error_of(lambda: tensor(X).to_device(place), ti.UnavailableError)
        assert "allocating 24 bytes" in text, text
        assert "CUDA_ERROR_OUT_OF_MEMORY (out of memory)" in text, text
        assert np.array_equal(tensor(X).to_device(place).to_host().numpy(), X)
    assert nothing_lives()
    """)


@pytest.mark.parametrize("way", [("cpu", "gpu:1"), ("gpu:0", "cpu"), ("gpu:0", "cpu_pinned"), ("gpu:0", "gpu:1")])
def test_whatever_fails_leaves_nothing_behind(way: tuple[str, str], run: Run) -> None:
    run(f"""
    source = tensor(X).to_device({way[0]!r})
    source.to_device({way[1]!r})  # what is called once only is in the next test
    cuda.reset()
    moved = source.to_device({way[1]!r})
    names = dict.fromkeys(line.split("(")[0] for line in cuda.log())
    assert "cuMemcpyAsync" in names or "cuMemcpyPeerAsync" in names
    del moved
    told = []
    # What lets go of something cannot be told of, and what it was to let go of stays.
    letting_go = ("cuCtxPopCurrent", "cuEventDestroy")
    for name in names:
        for first in (1, 2):
            checked()
            lived = [cuda.live(kind) for kind in ("DeviceMemory", "PinnedMemory", "Event")]
            cuda.fail(name, first=first)
            try:
                moved = source.to_device({way[1]!r})
            except ti.TritonError as error:
                assert "CUDA error 999" in str(error), error
                told.append(name)
                cuda.reset()
            else:
                assert name in letting_go or first == 2, name
                cuda.reset()
                assert np.array_equal(moved.to_host().numpy(), X), name
                del moved
            while cuda.context_depth() != 0 and name == "cuCtxPopCurrent":
                cuda.pop_context()
            cuda.wait_for_all(0)
            cuda.wait_for_all(1)
            if name not in letting_go:
                assert [cuda.live(kind) for kind in ("DeviceMemory", "PinnedMemory", "Event")] == lived, (name, first)
            assert np.array_equal(source.to_device({way[1]!r}).to_host().numpy(), X), name
    assert set(told) == set(names) - set(letting_go), told
    """)


@pytest.mark.parametrize("device", ["gpu:1", "cpu_pinned"])
def test_a_first_use_that_fails_can_be_repeated(device: str, run: Run) -> None:
    run(f"""
    names = ["cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain"]
    names += ["cuStreamCreate"] if {device!r} == "gpu:1" else []
    for name in names:
        cuda.fail(name)
        text = error_of(lambda: tensor(X).to_device({device!r}))
        assert name in text and "CUDA error 999" in text, text
        assert nothing_lives()
    assert np.array_equal(tensor(X).to_device({device!r}).to_host().numpy(), X)
    assert nothing_lives()
    """)


def test_what_the_driver_says_is_told(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    cuda.fail("cuMemcpyAsync", result=700)
    text = error_of(there.to_host, ti.InternalError)
    assert text == "copying 24 bytes with GPU 0 failed: CUDA error 700", text
    """)


def test_a_forked_child_is_told_and_frees_nothing(run: Run) -> None:
    run("""
    import warnings
    there = tensor(X).to_device("gpu")
    pinned = tensor(X).to_device("cpu_pinned")
    cuda.reset()
    child = os.fork()
    if child == 0:
        texts = [error_of(action, ti.UnavailableError) for action in (
            there.to_host, lambda: tensor(X).to_device("gpu"), lambda: tensor(X).to_device("cpu_pinned"))]
        assert all("forked" in text for text in texts), texts
        del there, pinned
        gc.collect()
        os._exit(0 if cuda.log() == [] and cuda.breaches() == [] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(there.to_host().numpy(), X)
    child = os.fork()
    if child == 0:
        sys.exit(0)  # as a whole interpreter ends
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    del there, pinned
    assert nothing_lives()
    """)


def test_a_child_may_use_the_driver_that_its_parent_did_not(run: Run) -> None:
    run("""
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(tensor(X).to_device("gpu").to_host().numpy(), X) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)


def test_tensors_may_outlive_the_interpreter(run: Run) -> None:
    assert run("""
    import atexit
    kept = [tensor(X).to_device(place) for place in ("gpu", "gpu:1", "cpu_pinned")]
    atexit.register(lambda: print("end", len(kept)))
    """).splitlines() == ["end 3"]


# numpy.


def test_numpy_says_what_to_do(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    for read in (there.numpy, there.__array__, lambda: np.asarray(there)):
        text = error_of(read, ti.UnsupportedError)
        assert "GPU memory" in text and "to_host()" in text, text
    words = Tensor.from_string_array(["a"]).to_device("gpu")
    for read in (words.numpy, words.to_bytes_array, words.to_string_array):
        assert "to_host()" in error_of(read, ti.UnsupportedError)
    """)


def test_numpy_reads_pinned_memory_as_it_lies(run: Run) -> None:
    run("""
    pinned = tensor(X).to_device("cpu_pinned")
    array = pinned.numpy()
    assert array.ctypes.data == pinned.data_ptr and np.array_equal(array, X)
    del pinned
    assert np.array_equal(array, X) and cuda.live("PinnedMemory") == 1
    del array
    assert nothing_lives()
    """)


# The CUDA array interface.

INTERFACE = """
to_tensor = Tensor.from_any
class Array:
    def __init__(self, content, shape=None, typestr="|u1", device=0, address=None, read_only=False, **more):
        self.address = cuda.allocate(content, device) if address is None else address
        self.__cuda_array_interface__ = {
            "shape": shape or (len(content),), "typestr": typestr, "data": (self.address, read_only), "version": 3}
        self.__cuda_array_interface__.update(more)
"""


def test_the_interface_of_a_gpu_tensor(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu:1")
    interface = there.__cuda_array_interface__
    assert interface == {
        "shape": (2, 3), "typestr": "<f4", "data": (there.data_ptr, False), "strides": None, "stream": 1, "version": 3}
    assert all(type(n) is int for n in (*interface["shape"], *interface["data"][:1], interface["stream"]))
    names = {"bool": "|b1", "uint8": "|u1", "int8": "|i1", "uint16": "<u2", "int64": "<i8", "float16": "<f2"}
    for name, typestr in names.items():
        array = np.ones(2, name)
        assert tensor(array).to_device("gpu").__cuda_array_interface__["typestr"] == typestr == array.dtype.str
    empty = tensor(np.zeros((0, 3), np.int32)).to_device("gpu")
    assert empty.__cuda_array_interface__["data"] == (0, False)
    assert not hasattr(tensor(X), "__cuda_array_interface__")
    assert not hasattr(tensor(X).to_device("cpu_pinned"), "__cuda_array_interface__")
    assert not hasattr(Tensor.from_string_array(["a"]).to_device("gpu"), "__cuda_array_interface__")
    halves = Tensor(ti.DataType.BF16, [3], tensor(np.arange(3, dtype=np.uint16)).memory_buffer).to_device("gpu")
    assert "no type for BF16" in error_of(lambda: halves.__cuda_array_interface__, AttributeError)
    """)


def test_lent_memory_is_freed_after_the_borrowers_work(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    address, stream = there.__cuda_array_interface__["data"][0], cuda.stream()
    cuda.fill(address, 1, 24, stream)  # still to be done when the last name goes
    del there
    assert nothing_lives()
    """)


def test_freeing_memory_that_was_not_lent_waits_for_nothing(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    cuda.reset()
    del there
    assert cuda.calls("cuMemFreeAsync") == 1
    assert cuda.calls("cuCtxSynchronize") == cuda.calls("cuStreamSynchronize") == 0
    """)


def test_an_array_with_the_interface_is_taken_as_it_lies(run: Run) -> None:
    run(
        INTERFACE
        + textwrap.dedent("""
    import weakref
    for typestr, name in (("<f4", "float32"), ("|b1", "bool"), ("<i8", "int64"), ("<u1", "uint8"), ("<f2", "float16")):
        data = np.ones((2, 3), name)
        array = Array(data.tobytes(), (2, 3), typestr, device=1)
        taken = to_tensor(array)
        assert (taken.data_ptr, taken.memory_type, taken.memory_type_id) == (array.address, MemoryType.GPU, 1)
        assert taken.shape == (2, 3)
        back = taken.to_host().numpy()
        assert back.dtype == data.dtype and np.array_equal(back, data)
    assert cuda.calls("cuMemcpyAsync") == 5
    owner = weakref.ref(array)
    del array
    assert owner() is not None  # kept by the tensor
    del taken
    gc.collect()
    assert owner() is None
    strided = Array(bytes(24), (2, 3), "<f4", strides=(12, 4))
    assert to_tensor(strided).data_ptr == strided.address
    assert to_tensor(Array(bytes(24), (1, 6), "<f4", strides=(999, 4))).shape == (1, 6)
    assert to_tensor(Array(b"", (0, 3), "<f4", address=0, strides=(1, 1))).size == 0
    for read_only in (True, False):  # a caller's memory always is
        assert to_tensor(Array(bytes(4), read_only=read_only)).__cuda_array_interface__["data"][1] is True
    pinned = to_tensor(Array(b"abcd", address=cuda.allocate_pinned(b"abcd")))
    assert pinned.memory_type is MemoryType.CPU_PINNED and pinned.numpy().tobytes() == b"abcd"
    checked()
    """)
    )


def test_the_stream_of_the_interface_is_waited_for(run: Run) -> None:
    run(
        INTERFACE
        + textwrap.dedent("""
    own = cuda.stream(device=1)
    for stream in (LEGACY, PER_THREAD, own):
        array = Array(bytes(4), device=1, stream=stream)
        cuda.fill(array.address, 9, 4, stream, device=1)
        taken = to_tensor(array)
        assert cuda.read(taken.data_ptr, 4) == bytes([9] * 4), stream
    old = Array(bytes(4), version=2)  # says no stream
    cuda.fill(old.address, 9, 4, LEGACY)
    to_tensor(old)
    assert cuda.read(old.address, 4) == bytes([9] * 4)
    for more in ({}, {"stream": None}):
        array = Array(bytes(4), **more)
        cuda.reset()
        to_tensor(array)
        assert not any("Synchronize" in line for line in cuda.log())
    checked()
    """)
    )


def test_what_is_wrong_with_an_interface_is_told(run: Run) -> None:
    run(
        INTERFACE
        + textwrap.dedent("""
    def refused(kind, *arguments, **more):
        return error_of(lambda: to_tensor(Array(*arguments, **more)), kind)
    assert "1 (the legacy default stream)" in refused(ValueError, bytes(4), stream=0)
    assert "not -1" in refused(ValueError, bytes(4), stream=-1)
    assert "stream must be an int, not str" in refused(TypeError, bytes(4), stream="1")
    assert "not bool" in refused(TypeError, bytes(4), stream=True)
    assert "version 1" in refused(ti.UnsupportedError, bytes(4), version=1)
    assert "mask" in refused(TypeError, bytes(4), mask=Array(bytes(4)))
    assert "'>f4' of" in refused(TypeError, bytes(4), (1,), ">f4")
    for typestr in ("<c8", "<V2", "|O", "|S4", "", "f4", "<M8[s]", "<f16"):
        assert "no Triton data type" in refused(TypeError, bytes(8), (1,), typestr), typestr
    assert "as many" in refused(ValueError, bytes(24), (2, 3), "<f4", strides=(4,))
    assert "data[0] is 0" in refused(ValueError, bytes(4), address=0)
    assert "negative" in refused(ti.InvalidArgumentError, bytes(4), (-1,))
    assert "what kind of memory" in refused(ti.InvalidArgumentError, bytes(4), address=4096)
    assert "shape must be a tuple of ints, not list" in refused(TypeError, bytes(4), [4])
    assert "data must be" in refused(TypeError, bytes(4), data=4096)
    class Without:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "|u1", "version": 3}
    assert "must have 'data'" in error_of(lambda: to_tensor(Without()), ValueError)
    Without.__cuda_array_interface__ = 3
    assert "must be a dict, not int" in error_of(lambda: to_tensor(Without()), TypeError)
    checked()
    """)
    )


LAYOUTS = """
layouts = {
    "transposed": lambda a: a.T, "every other": lambda a: a[:, ::2], "backwards": lambda a: a[::-1, ::-1],
    "a column": lambda a: a[:, 1:2], "broadcast": lambda a: np.broadcast_to(a[:, :1], (4, 5)),
    "offset": lambda a: a[1:, 2:], "none": lambda a: a[:0, ::2],
    "three": lambda a: a.reshape(2, 2, 6).transpose(2, 0, 1),
}
whole = np.arange(24, dtype=np.int16).reshape(4, 6)
address = cuda.allocate(whole.tobytes(), 1)
"""


def test_an_array_of_any_layout_is_gathered(run: Run) -> None:
    run(
        INTERFACE
        + LAYOUTS
        + textwrap.dedent("""
    for name, take in layouts.items():
        part = take(whole)
        at = address + part.ctypes.data - whole.ctypes.data
        array = Array(b"", part.shape, "<i2", address=at, strides=part.strides)
        taken = to_tensor(array)
        assert np.array_equal(taken.to_host().numpy(), part), name
        if part.size:
            assert (taken.memory_type, taken.memory_type_id) == (MemoryType.GPU, 1)
            text = error_of(lambda: Tensor.from_any(array, copy=False), ValueError)
            assert "a GPU array of shape" in text and "copy is False" in text, text
            assert taken.__cuda_array_interface__["data"][1] is False  # it is nobody else's
    pinned = cuda.allocate_pinned(whole.tobytes())
    taken = to_tensor(Array(b"", (6, 4), "<i2", address=pinned, strides=(2, 12)))
    assert np.array_equal(taken.numpy(), whole.T)
    far = Array(b"", (2, 2), "<i2", address=address, strides=(2**62, 2**62))
    assert "reaches" in error_of(lambda: to_tensor(far), ti.InvalidArgumentError)
    del taken, array, part
    cuda.free(address)
    checked()
    """)
    )


def test_from_any_copies_on_the_gpu(run: Run) -> None:
    run(
        INTERFACE
        + textwrap.dedent("""
    array = Array(b"abcd", device=1)
    own = to_tensor(array, copy=True)
    assert own.data_ptr != array.address and own.memory_type_id == 1
    assert own.to_host().numpy().tobytes() == b"abcd"
    again = to_tensor(own, copy=True)
    assert again.data_ptr != own.data_ptr and again.to_host().numpy().tobytes() == b"abcd"
    assert to_tensor(own).data_ptr == own.data_ptr
    assert "to_host()" in error_of(lambda: to_tensor(own, data_type="FP32"), ti.UnsupportedError)
    assert "to_host()" in error_of(lambda: to_tensor(array, data_type="FP32"), ti.UnsupportedError)
    assert "to_host()" in error_of(own.tolist, ti.UnsupportedError)
    checked()
    """)
    )


# DLPack.

DLPACK = """
from helpers_dlpack import Producer, read
"""


def test_the_stream_of_a_dlpack_consumer_waits(run: Run) -> None:
    run("""
    given = on_gpu(bytes(8), device=1)
    own = cuda.stream(device=1)
    for stream in (own, PER_THREAD):
        cuda.fill(given.data_ptr, 7, 8, LEGACY, device=1)  # is still to be done
        before = cuda.live("Pending")
        capsule = given.__dlpack__(stream=stream, max_version=(1, 0))
        assert cuda.live("Pending") >= before  # the host did not wait
        cuda.wait_for_stream(stream, device=1)
        assert cuda.read(given.data_ptr, 8) == bytes([7] * 8), stream
        cuda.write(given.data_ptr, bytes(8))
    waits = [line for line in cuda.log() if line.startswith("cuStreamWaitEvent")]
    assert waits[0].startswith(f"cuStreamWaitEvent({own:#x}, ") and waits[1].startswith("cuStreamWaitEvent(2, "), waits
    cuda.reset()
    for stream in (None, 1, -1):  # the default stream is in order by itself, and -1 asks for nothing
        given.__dlpack__(stream=stream, max_version=(1, 0))
    assert cuda.log() == []
    for stream in (0, -2, -(2**40)):
        text = error_of(lambda: given.__dlpack__(stream=stream), ValueError)
        assert "stream must be None or 1" in text and text.endswith(f"not {stream}"), text
    for stream in ("1", 1.0, True):
        assert "stream must be an int" in error_of(lambda: given.__dlpack__(stream=stream), TypeError)
    assert "cuStreamWaitEvent" in error_of(lambda: given.__dlpack__(stream=12345678), ti.InvalidArgumentError)
    assert cuda.live("Event") == 0
    del capsule
    checked()
    """)


def test_a_capsule_of_gpu_memory(run: Run) -> None:
    run(
        DLPACK
        + textwrap.dedent("""
    there = tensor(X).to_device("gpu:1")
    assert there.__dlpack_device__() == (DLDeviceType.CUDA, 1)
    for arguments in ({}, {"max_version": (1, 0)}, {"dl_device": (2, 1)}, {"copy": False}):
        capsule = there.__dlpack__(**arguments)
        view = read(capsule).tensor
        assert (view.data, view.device.type, view.device.id) == (there.data_ptr, 2, 1)
        assert list(view.shape[:2]) == [2, 3] and list(view.strides[:2]) == [3, 1]
    address = there.data_ptr
    del there
    assert cuda.read(address, 24) == X.tobytes()  # the capsule keeps it
    stream = cuda.stream(device=1)
    cuda.fill(address, 1, 24, stream, device=1)  # the consumer's work, when the last name goes
    del capsule, view
    assert nothing_lives()
    """)
    )


def test_a_capsule_that_is_a_copy(run: Run) -> None:
    run(
        DLPACK
        + textwrap.dedent("""
    there = tensor(X).to_device("gpu:1")
    for arguments, device in (
        ({"copy": True}, (2, 1)), ({"copy": True, "stream": -1}, (2, 1)),
        ({"copy": True, "stream": PER_THREAD}, (2, 1)),
        ({"dl_device": (2, 0)}, (2, 0)), ({"dl_device": (1, 0)}, (1, 0)), ({"dl_device": (3, 0)}, (3, 0)),
        ({"dl_device": (1, 0), "copy": True, "stream": PER_THREAD}, (1, 0)),
    ):
        capsule = there.__dlpack__(max_version=(1, 0), **arguments)
        managed = read(capsule)
        view = managed.tensor
        assert managed.flags == 2 and (view.device.type, view.device.id) == device, arguments
        assert view.data != there.data_ptr
        if device[0] == 2:
            assert cuda.read(view.data, 24) == X.tobytes()
    del capsule, managed, view
    for dl_device in ((1, 0), (2, 0)):
        text = error_of(lambda: there.__dlpack__(dl_device=dl_device, copy=False), BufferError)
        assert "copy is False" in text, text
    for dl_device in ((10, 0), (1, 1), (13, 0), (2, -1), (3, 1)):
        text = error_of(lambda: there.__dlpack__(dl_device=dl_device), BufferError)
        assert f"device (2, 1) and cannot be exported on the requested device {dl_device}" in text, text
    assert "GPU 9" in error_of(lambda: there.__dlpack__(dl_device=(2, 9)), ti.InvalidArgumentError)
    for dl_device in (1, "cpu", (1,), (1.5, 0)):
        assert "dl_device must be" in error_of(lambda: there.__dlpack__(dl_device=dl_device), TypeError)
    pinned = tensor(X).to_device("cpu_pinned")
    assert np.array_equal(np.from_dlpack(pinned), X)
    assert read(pinned.__dlpack__(max_version=(1, 0), dl_device=(1, 0))).tensor.device.type == 1
    assert "to_device()" in error_of(lambda: tensor(X).__dlpack__(dl_device=(2, 0)), BufferError)
    del there, pinned
    assert nothing_lives()
    """)
    )


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="this numpy asks for no device")
def test_numpy_takes_a_gpu_tensor_to_the_host(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    assert np.array_equal(np.from_dlpack(there, device="cpu"), X)
    """)


def test_a_cuda_producer_is_told_the_stream(run: Run) -> None:
    run(
        DLPACK
        + textwrap.dedent("""
    address = cuda.allocate(bytes(4), 1)
    class Kernel(Producer):  # as a library does that works in a stream of its own
        def __dlpack__(self, **arguments):
            cuda.fill(address, 5, 4, LEGACY, device=1)
            return super().__dlpack__(**arguments)
    producer = Kernel(np.zeros(4, np.uint8), (4,), None, device=(2, 1), address=address)
    taken = Tensor.from_dlpack(producer)
    assert producer.asked == [("device", {}), ("capsule", {"stream": 1, "max_version": (1, 0)})], producer.asked
    assert (taken.data_ptr, taken.memory_type, taken.memory_type_id) == (address, MemoryType.GPU, 1)
    assert cuda.read(address, 4) == bytes([5] * 4)  # complete: Triton may read it
    assert taken.to_host().numpy().tolist() == [5] * 4
    assert producer.deleted == 0
    del taken
    gc.collect()
    assert producer.deleted == 1
    class Old(Producer):
        def __dlpack__(self, stream=None):
            self.asked.append(("old", {"stream": stream}))
            return self.capsule()
    old = Old(np.zeros(4, np.uint8), (4,), None, device=(2, 1), address=address, version=None)
    Tensor.from_any(old)
    assert old.asked == [("device", {}), ("old", {"stream": 1})] and old.deleted == 1
    cuda.fill(address, 6, 4, LEGACY, device=1)
    Tensor.from_dlpack(producer.capsule())  # nobody could be told: the default stream is waited for
    assert cuda.read(address, 4) == bytes([6] * 4)
    checked()
    """)
    )


def test_what_cannot_be_waited_for_is_given_back(run: Run) -> None:
    run(
        DLPACK
        + textwrap.dedent("""
    address = cuda.allocate(bytes(4))
    producer = Producer(np.zeros(4, np.uint8), (4,), None, device=(2, 0), address=address)
    cuda.fail("cuStreamSynchronize", result=700)
    text = error_of(lambda: Tensor.from_dlpack(producer), ti.InternalError)
    assert "waiting for a stream of GPU 0 failed" in text and producer.deleted == 1
    nowhere = Producer(np.zeros(4, np.uint8), (4,), None, device=(2, 5), address=address)
    assert "GPU 5" in error_of(lambda: Tensor.from_dlpack(nowhere), ti.InvalidArgumentError)
    assert nowhere.deleted == 1
    checked()
    """)
    )


def test_a_cuda_producer_where_there_is_no_driver(run: Run) -> None:
    run(
        DLPACK
        + textwrap.dedent("""
    os.environ["TRITON_INPROCESS_CUDA"] = "/nowhere/libcuda.so.1"
    producer = Producer(np.zeros(4, np.uint8), (4,), None, device=(2, 0))
    assert "/nowhere" in error_of(lambda: Tensor.from_dlpack(producer), ti.UnsupportedError)
    assert producer.asked[0] == ("device", {}) and producer.asked[1][1]["stream"] == 1
    assert producer.deleted == 1
    empty = Producer(np.zeros(0, np.uint8), (0,), None, device=(2, 0))
    assert Tensor.from_dlpack(empty).shape == (0,)
    """)
    )


def test_a_dlpack_tensor_of_any_layout_is_gathered_on_its_gpu(run: Run) -> None:
    run(
        DLPACK
        + LAYOUTS
        + textwrap.dedent("""
    for name, take in layouts.items():
        part = take(whole)
        strides = [stride // 2 for stride in part.strides]
        offset = part.ctypes.data - whole.ctypes.data
        producer = Producer(part, part.shape, strides, device=(2, 1), address=address, byte_offset=offset)
        taken = Tensor.from_dlpack(producer)
        assert np.array_equal(taken.to_host().numpy(), part), name
        if part.size:
            assert producer.deleted == 1 and taken.__dlpack_device__() == (2, 1)
            assert "copy is False" in error_of(lambda: Tensor.from_any(producer, copy=False), ValueError)
    checked()
    """)
    )


def test_gpu_memory_goes_from_library_to_library_as_it_lies(run: Run) -> None:
    run("""
    there = tensor(X).to_device("gpu")
    class Wrapper:
        def __dlpack_device__(self):
            return there.__dlpack_device__()
        def __dlpack__(self, **arguments):
            return there.__dlpack__(**arguments)
    again = Tensor.from_dlpack(Wrapper())
    assert again.data_ptr == there.data_ptr
    class Interface:
        __cuda_array_interface__ = there.__cuda_array_interface__
    assert Tensor.from_any(Interface()).data_ptr == there.data_ptr
    del there, Interface, Wrapper
    assert np.array_equal(again.to_host().numpy(), X)
    del again
    assert nothing_lives()
    """)


# The fake itself: what it is to notice, it notices.

DRIVER = """
import ctypes
library = ctypes.CDLL(os.environ["TRITON_INPROCESS_CUDA"])
def call(name, *arguments):
    return getattr(library, name)(*(ctypes.c_size_t(each) if isinstance(each, int) else each for each in arguments))
def allocate_async(stream):
    address = ctypes.c_size_t()
    assert call("cuMemAllocAsync", ctypes.byref(address), 8, stream) == 0
    return address.value
host = ctypes.create_string_buffer(b"12345678", 8)
"""


def test_the_fake_copies_only_what_is_waited_for(run: Run) -> None:
    run(
        DRIVER
        + textwrap.dedent("""
    memory, stream, other = cuda.allocate(bytes(8)), cuda.stream(), cuda.stream()
    with cuda.context():
        assert call("cuMemcpyAsync", memory, ctypes.addressof(host), 8, stream) == 0
    cuda.wait_for_stream(other)
    assert cuda.read(memory, 8) == bytes(8) and cuda.live("Pending") == 1
    cuda.wait_for_stream(stream)
    assert cuda.read(memory, 8) == b"12345678" and cuda.live("Pending") == 0
    with cuda.context():  # streams that are not told to wait do not
        assert call("cuMemcpyAsync", ctypes.addressof(host), memory, 8, LEGACY) == 0
    cuda.fill(memory, 0, 8, stream)
    cuda.wait_for_stream(stream)
    cuda.wait_for_stream(LEGACY)
    assert host.raw == bytes(8)
    assert cuda.breaches() == []
    """)
    )


def test_the_fake_notices_what_the_true_driver_does_not(run: Run) -> None:
    run(
        DRIVER
        + textwrap.dedent("""
    memory, stream, other = cuda.allocate_pinned(bytes(8)), cuda.stream(), cuda.stream()
    with cuda.context():
        pooled = allocate_async(stream)
        cuda.fill(pooled, 1, 8, other)  # is not ordered after the allocation
        cuda.wait_for_stream(other)
        (breach,) = cuda.breaches()
        assert "does not wait for its allocation" in breach
        cuda.reset()
        cuda.wait_for_stream(stream)
        cuda.fill(pooled, 1, 8, other)
        assert call("cuMemFreeAsync", pooled, stream) == 0  # while the other stream is still to write
        cuda.wait_for_stream(stream)
        (breach,) = cuda.breaches()
        assert "freed while an operation that uses it was pending" in breach
        cuda.reset()
        cuda.wait_for_all()
        (breach,) = cuda.breaches()
        assert "freed before an operation that uses it" in breach
        cuda.reset()
        gpu = cuda.allocate(bytes(8))
        assert call("cuMemcpyAsync", gpu, memory, 8, stream) == 0
        assert call("cuMemFreeHost", memory) == 0
        (breach,) = cuda.breaches()
        assert "freed while" in breach
        cuda.reset()
        cuda.wait_for_all()
    assert cuda.context_depth() == 0
    """)
    )


def test_the_fake_refuses_what_the_true_driver_refuses(run: Run) -> None:
    run(
        DRIVER
        + textwrap.dedent("""
    address = ctypes.c_size_t()
    assert call("cuMemAlloc_v2", ctypes.byref(address), 8) == 3  # not initialised
    stream, far = cuda.stream(), cuda.stream(device=1)
    memory = cuda.allocate(bytes(8))
    assert call("cuMemAlloc_v2", ctypes.byref(address), 8) == 201  # without a context
    assert call("cuMemcpyAsync", memory, ctypes.addressof(host), 8, stream) == 201
    assert call("cuCtxSynchronize") == 201
    event = ctypes.c_void_p()
    with cuda.context():
        assert call("cuMemAlloc_v2", ctypes.byref(address), 0) == 1
        assert call("cuMemcpyAsync", memory, ctypes.addressof(host), 9, stream) == 1
        assert call("cuMemcpyAsync", memory, ctypes.addressof(host), 8, 12345) == 400
        assert call("cuStreamSynchronize", 12345) == 400
        assert call("cuEventCreate", ctypes.byref(event), 2) == 0
        assert call("cuEventRecord", event, far) == 400  # of another context
        assert call("cuStreamWaitEvent", stream, 12345, 0) == 400
        assert call("cuMemFree_v2", memory + 4) == 1
        assert call("cuMemFree_v2", ctypes.addressof(host)) == 1
        assert call("cuPointerGetAttribute", ctypes.byref(address), 2, ctypes.addressof(host)) == 1
    assert cuda.breaches() == []
    """)
    )


# -- outputs -----------------------------------------------------------------------------------------------------------


# Before the fake is loaded: Triton would take it for the driver.
SERVER = """
import numpy as np
import triton_inprocess as ti
server = ti.Server(gpu_metrics=False).start()
specs = {"x": (np.float32, (2, 3))}, {"y": (np.float32, (2, 3))}
model = server.add_model(lambda x: x * 2, name="m", inputs=specs[0], outputs=specs[1])
"""


def test_outputs_go_to_gpu_memory(library: Path, runtime: ti.runtime.Runtime) -> None:
    code = """
def infer(x=X, **fields):
    return model.infer({"x": x}, **fields).result().outputs["y"]

for place in ("gpu:1", (MemoryType.GPU, 1)):
    output = infer(output_memory_type=place)
    assert (output.memory_type, output.memory_type_id) == (MemoryType.GPU, 1)
    assert output.to_host().tolist() == (X * 2).tolist()
output = infer(output_memory_type="cpu_pinned")
assert (output.memory_type, output.tolist()) == (MemoryType.CPU_PINNED, (X * 2).tolist())

target = tensor(np.zeros((2, 3), np.float32)).to_device("gpu")
output = infer(outputs={"y": target})
assert output.data_ptr == target.data_ptr
assert target.to_host().tolist() == (X * 2).tolist()

class Array:
    def __init__(self, read_only):
        interface = target.__cuda_array_interface__
        self.__cuda_array_interface__ = {**interface, "data": (target.data_ptr, read_only)}

infer(-X, outputs={"y": Array(False)})
assert target.to_host().tolist() == (X * -2).tolist()
assert "read-only" in error_of(lambda: infer(outputs={"y": Array(True)}), ValueError)
assert "GPU 7" in error_of(lambda: infer(output_memory_type="gpu:7"))
del output, target
assert nothing_lives()
server.stop()
"""
    run_beside_tests(SERVER + PRELUDE + code, TRITON_INPROCESS_CUDA=str(library))
