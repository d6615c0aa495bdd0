"""GPU memory on a true GPU, with PyTorch and CuPy where they are installed. Not yet run on a GPU.

Everything here is skipped, with the reason, where there is none; tests/test_devices.py has the same with a stand-in for
the driver. A second GPU is used if there is one.
"""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer
from helpers_peer import Peer

import triton_inprocess as ti
from triton_inprocess import DLDeviceType, MemoryType, Tensor
from triton_inprocess._native import cuda_device_count


def _gpus() -> int:
    if os.environ.get("TRITON_INPROCESS_CUDA"):
        pytest.skip("$TRITON_INPROCESS_CUDA names a stand-in for the driver", allow_module_level=True)
    try:
        return cuda_device_count()
    except ti.UnsupportedError as error:
        pytest.skip(f"no GPU: {error}", allow_module_level=True)


GPUS = _gpus()
LAST = f"gpu:{GPUS - 1}"
PLACES = ["cpu", "cpu_pinned", "gpu:0", LAST]
LARGE = 1 << 24

X = np.arange(LARGE, dtype=np.float32)


@pytest.mark.parametrize("first", PLACES)
@pytest.mark.parametrize("second", PLACES)
def test_every_way_and_back(first: str, second: str) -> None:
    there = Tensor.from_any(X).to_device(first).to_device(second)
    assert np.array_equal(there.to_host().numpy(), X)
    assert there.to_device(second) is there


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float64"]
)
def test_every_type(name: str) -> None:
    for shape in ((), (0,), (3, 0), (1,), (3, 5, 7)):
        array = np.ones(shape, name)
        there = Tensor.from_any(array).to_device("gpu")
        back = there.to_host().numpy()
        assert back.dtype == array.dtype
        assert np.array_equal(back, array)


def test_words() -> None:
    words = Tensor.from_any(["a", "", "long" * 1000])
    assert words.to_device("gpu").to_host().to_string_array().tolist() == ["a", "", "long" * 1000]


def test_a_number_that_no_gpu_has() -> None:
    with pytest.raises(ti.InvalidArgumentError, match=f"there is no GPU {GPUS}"):
        Tensor.from_any(X).to_device((MemoryType.GPU, GPUS))


def test_too_much_memory() -> None:
    small = Tensor.from_any(np.zeros(1, np.uint8))
    huge = Tensor(ti.DataType.UINT8, [1 << 45], ti.MemoryBuffer(small.data_ptr, MemoryType.CPU, 0, 1 << 45, small))
    with pytest.raises(ti.UnavailableError, match=r"allocating 35184372088832 bytes.*OUT_OF_MEMORY"):
        huge.to_device("gpu")
    assert np.array_equal(Tensor.from_any(X).to_device("gpu").to_host().numpy(), X)


def test_memory_is_given_back() -> None:
    kept: list[Tensor] = []

    def fill() -> None:
        while True:
            kept.append(Tensor.from_any(X).to_device("gpu"))

    with pytest.raises(ti.UnavailableError):
        fill()
    all_that_fit = len(kept)
    kept.clear()
    for _ in range(2 * all_that_fit):
        Tensor.from_any(X).to_device("gpu")


# PyTorch.


@pytest.fixture
def torch() -> Any:
    module: Any = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    return module


def test_torch_takes_a_tensor_as_it_lies(torch: Any) -> None:
    there = Tensor.from_any(X, copy=True).to_device(LAST)
    for taken in (torch.from_dlpack(there), torch.as_tensor(there, device=f"cuda:{GPUS - 1}")):
        assert taken.data_ptr() == there.data_ptr
        assert taken.device.index == GPUS - 1
        assert np.array_equal(taken.cpu().numpy(), X)
    del there
    assert float(taken[5]) == 5.0


def test_a_side_stream_of_torchs_waits_for_the_default_one(torch: Any) -> None:
    source = torch.zeros(LARGE, device="cuda")
    memory = ti.MemoryBuffer(source.data_ptr(), MemoryType.GPU, 0, 4 * LARGE, source)
    there = Tensor(ti.DataType.FP32, [LARGE], memory)
    big = torch.rand(8192, 8192, device="cuda")
    side = torch.cuda.Stream()
    for value in range(1, 6):
        for _ in range(10):
            big = (big @ big).clamp(0, 1)
        source.fill_(value)  # behind the products, in the default stream
        with torch.cuda.stream(side):
            taken = torch.from_dlpack(there)
            total = taken.sum()
        side.synchronize()
        assert float(total) == value * LARGE


def test_torchs_pending_work_is_waited_for(torch: Any) -> None:
    big = torch.rand(8192, 8192, device="cuda")
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        for value in range(1, 6):
            with torch.cuda.stream(stream):
                source = torch.zeros(LARGE, device="cuda")
                for _ in range(10):
                    big = (big @ big).clamp(0, 1)
                source.fill_(value)
                taken = Tensor.from_any(source)
            assert taken.data_ptr == source.data_ptr()
            assert taken.to_host().numpy().min() == value


def test_torchs_layouts(torch: Any) -> None:
    whole = torch.arange(24, dtype=torch.int16, device="cuda").reshape(4, 6)
    for part in (whole.T, whole[:, ::2], whole[1:, 2:], whole[:, :1].expand(4, 5), whole[:0]):
        taken = Tensor.from_any(part)
        assert np.array_equal(taken.to_host().numpy(), part.cpu().numpy())
        assert taken.memory_type is MemoryType.GPU


def test_a_copy_for_torch(torch: Any) -> None:
    there = Tensor.from_any(X).to_device("gpu")
    copied = torch.from_dlpack(there.__dlpack__(copy=True, max_version=(1, 0)))
    assert copied.data_ptr() != there.data_ptr
    copied.zero_()
    torch.cuda.synchronize()
    assert np.array_equal(there.to_host().numpy(), X)
    assert there.__dlpack_device__() == (DLDeviceType.CUDA, 0)


def test_memory_lent_to_torch_is_freed_after_its_work(torch: Any) -> None:
    side = torch.cuda.Stream()
    big = torch.rand(4096, 4096, device="cuda")
    results = []
    for value in range(20):
        there = Tensor.from_any(np.full(LARGE, value, np.float32)).to_device("gpu")
        with torch.cuda.stream(side):
            taken = torch.from_dlpack(there)
            for _ in range(5):
                big = (big @ big).clamp(0, 1)
            results.append(taken.sum())
        del taken, there  # the sum is still to be made
        gc.collect()
    side.synchronize()
    assert [float(total) for total in results] == [value * LARGE for value in range(20)]


# Other processes.


@pytest.mark.parametrize("device", ["gpu:0", LAST])
def test_another_process_opens_a_tensor(device: str) -> None:
    handle = Tensor.from_any(X).to_device(device).share()
    here = handle.open()
    peer = Peer()
    try:
        read = "there = handle.open(); array = there.to_host().numpy(); result = (array.sum(dtype='f8'), array[-1])"
        assert peer.run(read, handle=handle) == (X.sum(dtype="f8"), X[-1])
        assert peer.run("again = handle.open(); result = again.data_ptr == there.data_ptr; del again")
        on = peer.run("copy = there.share(); del there, handle; gc.collect(); result = copy")
        assert np.array_equal(on.open().to_host().numpy(), X)
    finally:
        peer.end()
    assert here.data_ptr == handle.open().data_ptr
    assert np.array_equal(here.to_host().numpy(), X)


def test_torchs_tensors_are_opened_by_another_process(torch: Any) -> None:
    given = torch.arange(1000, device="cuda", dtype=torch.float32)[500:]
    handle = Tensor.from_any(given).share()
    peer = Peer()
    try:
        values = peer.run("result = handle.open().to_host().tolist()", handle=handle)
    finally:
        peer.end()
    assert values == list(range(500, 1000))


# CuPy.


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


def test_cupy_takes_a_tensor_as_it_lies(cupy: Any) -> None:
    there = Tensor.from_any(X, copy=True).to_device("gpu")
    for taken in (cupy.from_dlpack(there), cupy.asarray(there)):
        assert taken.data.ptr == there.data_ptr
        assert np.array_equal(cupy.asnumpy(taken), X)


def test_cupys_pending_work_is_waited_for(cupy: Any) -> None:
    class Interface:
        def __init__(self, array: Any) -> None:
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            big = cupy.random.rand(4096, 4096, dtype=cupy.float32)
            for value in range(1, 6):
                source = cupy.zeros(LARGE, cupy.float32)
                for _ in range(10):
                    big = (big @ big).clip(0, 1)
                source.fill(value)
                taken = Tensor.from_any(Interface(source) if value % 2 else source)
                assert taken.data_ptr == source.data.ptr
                assert taken.to_host().numpy().min() == value


def test_cupys_layouts(cupy: Any) -> None:
    whole = cupy.arange(24, dtype=cupy.int16).reshape(4, 6)
    for part in (whole.T, whole[:, ::2], whole[::-1, ::-1], cupy.broadcast_to(whole[:, :1], (4, 5))):
        assert np.array_equal(Tensor.from_any(part).to_host().numpy(), cupy.asnumpy(part))


# Triton.


def test_a_model_gets_pinned_memory(start_server: StartServer) -> None:
    model = add_echo(start_server())
    x = np.arange(16, dtype=np.float32)
    assert np.array_equal(answer(model, x=Tensor.from_any(x).to_device("cpu_pinned")), x)
