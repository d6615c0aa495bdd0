"""DLPack in and out, field by field."""

from __future__ import annotations

import ctypes
import datetime
import gc
import re
import sys
import time
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import add_echo, needs_dlpack_1
from helpers_dlpack import LEGACY, VERSIONED, ManagedVersioned, Producer, name_of, read

import triton_inprocess as ti

X = np.arange(24, dtype=np.float32)

READ_ONLY, IS_COPIED = 1, 2


# -- in ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, (1, 0), (1, 9)])
@pytest.mark.parametrize("strides", [None, (12, 4, 1)])
def test_what_lies_in_order_is_not_copied(version: Any, strides: Any) -> None:
    producer = Producer(X, (2, 3, 4), strides, version=version)
    tensor = ti.Tensor.from_dlpack(producer)
    assert (tensor.data_type, tensor.shape, tensor.data_ptr) == (ti.DataType.FP32, (2, 3, 4), X.ctypes.data)
    np.testing.assert_array_equal(tensor.numpy(), X.reshape(2, 3, 4))
    assert producer.deleted == 0
    del tensor
    assert producer.deleted == 1


@pytest.mark.parametrize(("shape", "strides"), [((1, 3), (800, 1)), ((4, 1), (1, 7)), ((1, 1), (-5, 0))])
def test_the_stride_of_a_dimension_of_size_1_means_nothing(shape: Any, strides: Any) -> None:
    tensor = ti.Tensor.from_dlpack(Producer(X, shape, strides))
    assert (tensor.shape, tensor.data_ptr) == (shape, X.ctypes.data)


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "expected"),
    [
        ((3,), (2,), 0, [0, 2, 4]),
        ((3,), (-1,), 8, [2, 1, 0]),
        ((2, 3), (0, 1), 4, [[1, 2, 3], [1, 2, 3]]),
        ((3, 2), (1, 3), 0, [[0, 3], [1, 4], [2, 5]]),
        ((3, 3), (1, 1), 0, [[0, 1, 2], [1, 2, 3], [2, 3, 4]]),
    ],
    ids=["every second", "reversed", "broadcast", "transposed", "overlapping"],
)
def test_what_does_not_lie_in_order_is_copied(shape: Any, strides: Any, offset: int, expected: Any) -> None:
    producer = Producer(X, shape, strides, byte_offset=offset)
    tensor = ti.Tensor.from_dlpack(producer)
    assert producer.deleted == 1  # the copy does not need it
    assert tensor.tolist() == expected
    assert tensor.numpy().flags.writeable
    refused = Producer(X, shape, strides, byte_offset=offset)
    with pytest.raises(ValueError, match=rf"{re.escape(str(list(shape)))}.*copy is False"):
        ti.Tensor.from_any(refused, copy=False)
    assert refused.deleted == 1


def test_the_byte_offset_counts() -> None:
    tensor = ti.Tensor.from_dlpack(Producer(X, (3,), None, byte_offset=20))
    assert tensor.data_ptr == X.ctypes.data + 20
    assert tensor.tolist() == [5, 6, 7]


def test_a_copy_may_be_asked_for() -> None:
    producer = Producer(X, (3,), None)
    tensor = ti.Tensor.from_any(producer, copy=True)
    assert tensor.data_ptr != X.ctypes.data
    assert (tensor.tolist(), producer.deleted) == ([0, 1, 2], 1)


def test_nothing_may_lie_nowhere() -> None:
    for shape in ((0,), (0, 3), (3, 0), (2**62, 0, 2**62)):
        tensor = ti.Tensor.from_dlpack(Producer(X, shape, None, address=0))
        assert (tensor.shape, tensor.size) == (shape, 0)
    with pytest.raises(ti.InvalidArgumentError, match=r"\[2\].*no memory"):
        ti.Tensor.from_dlpack(Producer(X, (2,), None, address=0))


@pytest.mark.parametrize("shape", [(-1,), (2**62, 2**62), (2**61,)])
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    producer = Producer(X, shape, None)
    with pytest.raises(ti.InvalidArgumentError, match=re.escape(str(list(shape)))):
        ti.Tensor.from_dlpack(producer)
    assert producer.deleted == 1


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        ((10, 8, 1), r"float8.*UINT8"),
        ((5, 64, 1), "complex64"),
        ((2, 32, 4), "float32 of 4 lanes"),
        ((6, 1, 1), "bool1"),
        ((0, 128, 1), "int128"),
        ((200, 8, 1), "code 200"),
    ],
)
def test_types_that_triton_lacks_are_named(dtype: Any, words: str) -> None:
    producer = Producer(X, (2,), None, dtype=dtype)
    with pytest.raises(TypeError, match=words):
        ti.Tensor.from_dlpack(producer)
    assert producer.deleted == 1


def test_bfloat16() -> None:
    bits = np.arange(3, dtype=ml_dtypes.bfloat16).view(np.uint16)
    tensor = ti.Tensor.from_dlpack(Producer(bits, (3,), None, dtype=(4, 16, 1)))
    assert (tensor.data_type, tensor.tolist()) == (ti.DataType.BF16, [0, 1, 2])


def test_pinned_memory_is_told_apart() -> None:
    tensor = ti.Tensor.from_dlpack(Producer(X, (2,), None, device=(3, 0)))
    assert tensor.memory_type == ti.MemoryType.CPU_PINNED
    assert tensor.tolist() == [0, 1]
    assert tensor.__dlpack_device__() == (3, 0)


def test_a_new_major_version_is_refused_and_stays_its_producers() -> None:
    producer = Producer(X, (2,), None, version=(2, 0))
    with pytest.raises(BufferError, match="version 2"):
        ti.Tensor.from_dlpack(producer)
    assert producer.deleted == 0


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_is_consumed_once(version: Any) -> None:
    producer = Producer(X, (2,), None, version=version)
    capsule = producer.capsule()
    tensor = ti.Tensor.from_dlpack(capsule)
    assert name_of(capsule) == b"used_" + producer.name
    for consume in (ti.Tensor.from_dlpack, ti.Tensor.from_any, ti.MemoryBuffer.from_dlpack):
        with pytest.raises(ValueError, match="consumed"):
            consume(capsule)
    assert tensor.tolist() == [0, 1]
    del tensor, capsule
    assert producer.deleted == 1


def test_what_is_no_dlpack_capsule_is_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("'datetime.datetime_CAPI'")):
        ti.Tensor.from_dlpack(datetime.datetime_CAPI)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="without a name"):
        ti.Tensor.from_dlpack(X.__array_struct__)

    class Liar(Producer):
        def __dlpack__(self, **_: Any) -> Any:
            return 7

    with pytest.raises(TypeError, match="no capsule"):
        ti.Tensor.from_dlpack(Liar(X, (2,), None))


def test_producers_are_asked_as_the_standard_says() -> None:
    producer = Producer(X, (2,), None)
    ti.Tensor.from_dlpack(producer)
    assert producer.asked == [("device", {}), ("capsule", {"max_version": (1, 0)})]


def test_old_producers_know_no_versions() -> None:
    class Old(Producer):
        def __dlpack__(self, stream: Any = None) -> Any:  # type: ignore[override]
            return self.capsule()

    assert ti.Tensor.from_dlpack(Old(X, (2,), None, version=None)).tolist() == [0, 1]


@pytest.mark.parametrize("error", [BufferError, TypeError, RuntimeError])
def test_what_a_producer_raises_is_raised(error: type[Exception]) -> None:
    calls = 0

    class Unwilling(Producer):
        def __dlpack__(self, **_: Any) -> Any:
            nonlocal calls
            calls += 1
            raise error("requires grad")

    with pytest.raises(error, match="requires grad"):
        ti.Tensor.from_dlpack(Unwilling(X, (2,), None))
    assert calls == 1


def test_other_devices_are_named() -> None:
    producer = Producer(X, (2,), None, device=(10, 3))
    with pytest.raises(ti.UnsupportedError, match=r"\(10, 3\)"):
        ti.Tensor.from_dlpack(producer)
    assert [what for what, _ in producer.asked] == ["device"]
    with pytest.raises(ti.UnsupportedError, match=r"\(10, 3\)"):
        ti.Tensor.from_dlpack(producer.capsule())
    assert producer.deleted == 1


def test_the_memory_of_a_buffer() -> None:
    producer = Producer(X, (2, 3), None)
    buffer = ti.MemoryBuffer.from_dlpack(producer)
    assert (buffer.data_ptr, buffer.size, buffer.memory_type) == (X.ctypes.data, 24, ti.MemoryType.CPU)
    tensor = ti.Tensor(ti.DataType.INT8, (24,), buffer)
    del buffer
    assert producer.deleted == 0
    del tensor
    assert producer.deleted == 1


@needs_dlpack_1
def test_thousands_of_imports_leave_nothing() -> None:
    array = np.arange(8, dtype=np.float32)
    gc.disable()
    try:
        before = sys.getrefcount(array)
        for _ in range(10_000):
            ti.Tensor.from_any(ti.Tensor.from_any(array).__dlpack__(max_version=(1, 0)))
            ti.Tensor.from_dlpack(np.from_dlpack(ti.Tensor.from_any(array)))
        assert sys.getrefcount(array) == before
    finally:
        gc.enable()


# -- out ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 3), (3, 0, 2), (1, 1)])
def test_the_fields_of_a_capsule(shape: tuple[int, ...]) -> None:
    array = np.ones(shape, np.int16)
    tensor = ti.Tensor.from_any(array)
    capsule = tensor.__dlpack__(max_version=(1, 0))
    managed = read(capsule)
    assert isinstance(managed, ManagedVersioned)
    assert (managed.major, managed.flags) == (1, READ_ONLY)
    view = managed.tensor
    assert (view.ndim, view.byte_offset) == (len(shape), 0)
    assert (view.device.type, view.device.id) == (1, 0)
    assert (view.dtype.code, view.dtype.bits, view.dtype.lanes) == (0, 16, 1)
    assert tuple(view.shape[i] for i in range(view.ndim)) == shape
    expected = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    assert [view.strides[i] for i in range(view.ndim)] == expected
    assert array.size == 0 or view.data == array.ctypes.data


def test_flags_tell_of_copies_and_of_memory_that_is_not_ours() -> None:
    borrowed = ti.Tensor.from_any(X)
    own = ti.Tensor.from_any(X, copy=True)
    for tensor, arguments, flags in [
        (borrowed, {}, READ_ONLY),
        (borrowed, {"copy": True}, IS_COPIED),
        (own, {}, 0),
        (own, {"copy": False}, 0),
        (own, {"copy": True}, IS_COPIED),
    ]:
        capsule = tensor.__dlpack__(max_version=(1, 0), **arguments)  # type: ignore[arg-type]
        managed = read(capsule)
        assert isinstance(managed, ManagedVersioned)
        assert managed.flags == flags
        assert (managed.tensor.data == tensor.data_ptr) == (not flags & IS_COPIED)


def test_old_consumers_get_what_they_know() -> None:
    own = ti.Tensor.from_any(X, copy=True)
    assert name_of(own.__dlpack__()) == LEGACY
    assert name_of(own.__dlpack__(max_version=(0, 8))) == LEGACY
    assert name_of(own.__dlpack__(max_version=(1, 3))) == VERSIONED
    borrowed = ti.Tensor.from_any(X)
    assert name_of(borrowed.__dlpack__(copy=True)) == LEGACY
    with pytest.raises(BufferError, match="read-only"):
        borrowed.__dlpack__()


def test_the_deleter_needs_no_gil() -> None:
    """A consumer may call it on any thread: ctypes' own calls release the GIL."""
    array = np.arange(4, dtype=np.float32)
    owner = weakref.ref(array)
    capsule = ti.Tensor.from_any(array).__dlpack__(max_version=(1, 0))
    managed = read(capsule)
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    used = b"used_dltensor_versioned"
    rename(capsule, used)
    del array
    assert owner() is not None
    managed.deleter(ctypes.addressof(managed))
    ti.Tensor.from_any(X)
    for _ in range(100):
        if owner() is None:
            break
        time.sleep(0.01)
    assert owner() is None


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        (Producer(X, (-1,), None), ti.InvalidArgumentError),
        (Producer(X, (2,), None, device=(10, 0)), ti.UnsupportedError),
        (Producer(X, (2,), None, version=(2, 0)), BufferError),
        (Producer(X, (2,), None, dtype=(5, 64, 1)), TypeError),
    ],
    ids=["shape", "device", "version", "dtype"],
)
def test_an_input_that_is_refused_is_named(server: ti.Server, producer: Producer, error: type[Exception]) -> None:
    model = add_echo(server)
    with pytest.raises(error, match="input 'x': ") as caught:
        model.infer(inputs={"x": producer})
    assert type(caught.value) is error
