"""Whatever array goes in: it comes out of a real model as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import answer, by_dlpack, examples
from helpers_dlpack import Producer
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import triton_inprocess as ti

Array = np.ndarray[Any, Any]

DTYPES = [np.dtype(name) for name in ("?", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8")]
MAXIMUM_RANK = 6
BATCH = 8

quickly = examples(150)


class Echo:
    """Models that answer what they are sent, made when first asked for."""

    def __init__(self, server: ti.Server) -> None:
        self.server = server
        self.models: dict[tuple[Any, ...], ti.Model] = {}

    def model(self, data_type: Any, *shape: int, batching: ti.Batching | None = None) -> ti.Model:
        key = (data_type, shape, batching)
        if key not in self.models:
            self.models[key] = self.server.add_model(
                lambda x: x,
                name=f"model{len(self.models)}",
                inputs={"x": (data_type, shape)},
                outputs={"y": (data_type, shape)},
                max_batch_size=0 if batching is None else BATCH,
                batching=batching,
            )
        return self.models[key]

    def of_rank(self, data_type: Any, rank: int) -> ti.Model:
        return self.model(data_type, *(-1,) * rank)


@pytest.fixture(scope="module")
def echo(runtime: ti.runtime.Runtime) -> Iterator[Echo]:
    with ti.Server() as server:
        yield Echo(server)


def indices(size: int) -> st.SearchStrategy[slice]:
    """Slices with steps of either sign."""
    bound = st.one_of(st.none(), st.integers(-size - 1, size + 1))
    return st.builds(slice, bound, bound, st.one_of(st.none(), st.integers(-3, 3).filter(bool)))


@st.composite
def views(
    draw: st.DrawFn, dtypes: st.SearchStrategy[np.dtype[Any]] | None = None, min_dims: int = 1, native: bool = False
) -> Array:
    """Arrays of any type and shape, laid out in any way; aligned and in native byte order if `native`."""
    dtype = draw(st.sampled_from(DTYPES) if dtypes is None else dtypes)
    if not native and draw(st.booleans()) and dtype.itemsize > 1:
        dtype = dtype.newbyteorder()
    shape = draw(arrays.array_shapes(min_dims=min_dims, max_dims=MAXIMUM_RANK, min_side=0, max_side=3))
    array = draw(arrays.arrays(dtype, shape))
    if not native and draw(st.booleans()):
        offset = draw(st.integers(1, 9))
        memory = bytearray(offset) + array.tobytes()
        array = np.frombuffer(memory, dtype, array.size, offset).reshape(shape)
    if draw(st.booleans()):
        array = np.asfortranarray(array)
    array = array[(*(draw(indices(size)) for size in array.shape), ...)]  # the last, so that it stays an array
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    if array.ndim and array.shape[0] and draw(st.booleans()):
        array = np.broadcast_to(array[0], (draw(st.integers(0, 3)), *array.shape[1:]))
    elif draw(st.booleans()):
        array.flags.writeable = False
    return array


def must_be_copied(array: Array) -> bool:
    return bool(array.size) and not (array.flags.c_contiguous and array.dtype.isnative)


def native(array: Array) -> Array:
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="))


def same(first: Array, second: Array) -> bool:
    """By bits: NaNs and negative zeros, too."""
    first, second = native(first), native(second)
    return (first.shape, first.dtype, first.tobytes()) == (second.shape, second.dtype, second.tobytes())


@quickly
@given(array=views())
def test_arrays_come_back_through_a_model(echo: Echo, array: Array) -> None:
    before = array.copy()
    received = answer(echo.of_rank(array.dtype.newbyteorder("="), array.ndim), x=array)
    assert same(received, before)
    assert received.flags.c_contiguous
    assert received.flags.writeable
    assert same(array, before)


@quickly
@given(array=views(min_dims=0), copy=st.sampled_from([None, True, False]))
def test_arrays_are_copied_exactly_when_they_must(array: Array, copy: bool | None) -> None:
    if copy is False and must_be_copied(array):
        with pytest.raises(ValueError, match="copy is False"):
            ti.Tensor.from_any(array, copy=copy)
        return
    tensor = ti.Tensor.from_any(array, copy=copy)
    copied = copy is True or must_be_copied(array)
    assert (tensor.shape, tensor.size) == (array.shape, array.nbytes)
    assert array.size == 0 or (tensor.data_ptr == array.ctypes.data) == (not copied)
    for received in (
        tensor.numpy(),
        np.asarray(tensor),
        *by_dlpack(tensor),
        np.array(tensor.tolist(), array.dtype),
    ):
        assert same(received.reshape(array.shape), array)
    for view in (tensor.numpy(), *by_dlpack(tensor)):
        assert array.size == 0 or view.ctypes.data == tensor.data_ptr
        assert view.flags.writeable == copied


@quickly
@given(array=views(min_dims=0, native=True), offset=st.integers(0, 40), version=st.sampled_from([None, (1, 0)]))
def test_capsules_of_any_layout_are_read(array: Array, offset: int, version: tuple[int, int] | None) -> None:
    strides = [stride // array.itemsize for stride in array.strides]
    producer = Producer(
        array, array.shape, strides, byte_offset=offset, address=array.ctypes.data - offset, version=version
    )
    tensor = ti.Tensor.from_dlpack(producer)
    assert same(tensor.numpy(), array)
    viewed = array.size == 0 or array.flags.c_contiguous
    assert array.size == 0 or (tensor.data_ptr == array.ctypes.data) == viewed
    assert producer.deleted == (not viewed)
    del tensor
    assert producer.deleted == 1


@quickly
@given(array=views())
def test_arrays_come_back_through_dlpack(array: Array) -> None:
    tensor = ti.Tensor.from_dlpack(native(array))
    assert tensor.shape == array.shape
    assert tensor.size == array.nbytes
    for received in (tensor.numpy(), np.asarray(tensor), *by_dlpack(tensor)):
        assert same(received, array)
        assert array.size == 0 or received.ctypes.data == tensor.data_ptr


@quickly
@given(array=views(), strided=st.data())
def test_strided_arrays_come_back_through_dlpack(array: Array, strided: st.DataObject) -> None:
    plain = native(array)
    view = plain[tuple(strided.draw(indices(size)) for size in plain.shape)]
    assert same(ti.Tensor.from_dlpack(view).numpy(), view)


@quickly
@given(bits=views(st.just(np.dtype("u2"))))
def test_bfloat16_comes_back_bit_by_bit(echo: Echo, bits: Array) -> None:
    array = native(bits).view(ml_dtypes.bfloat16)
    array = array.transpose(range(array.ndim)[::-1])
    received = answer(echo.of_rank(ml_dtypes.bfloat16, array.ndim), x=array)
    assert received.dtype == ml_dtypes.bfloat16
    assert same(received.view(np.uint16), np.ascontiguousarray(array).view(np.uint16))


elements = st.one_of(st.binary(max_size=20), st.text(st.characters(exclude_categories=["Cs"]), max_size=10))


def as_bytes(element: bytes | str) -> bytes:
    return element.encode() if isinstance(element, str) else element


@quickly
@given(
    array=arrays.arrays(object, arrays.array_shapes(max_dims=3, min_side=0, max_side=4), elements=elements),
    transposed=st.booleans(),
)
def test_bytes_come_back_through_a_model(echo: Echo, array: Array, transposed: bool) -> None:
    sent = array.T if transposed else array
    received = answer(echo.of_rank(str, sent.ndim), x=sent)
    assert received.shape == sent.shape
    assert [*received.flat] == [as_bytes(element) for element in sent.flat]


@quickly
@given(values=st.lists(elements, min_size=1, max_size=10))
def test_lists_of_strings_come_back_through_a_model(echo: Echo, values: list[bytes | str]) -> None:
    assert answer(echo.of_rank(str, 1), x=values).tolist() == [as_bytes(element) for element in values]


@quickly
@given(values=st.lists(elements, max_size=10))
def test_bytes_come_back_through_tensors(values: list[bytes | str]) -> None:
    expected = [as_bytes(element) for element in values]
    tensor = ti.Tensor.from_bytes_array(values)
    assert tensor.to_bytes_array().tolist() == expected
    assert tensor.size == sum(map(len, expected)) + 4 * len(expected)


@quickly
@given(values=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=10))
def test_strings_come_back_through_tensors(values: list[str]) -> None:
    assert ti.Tensor.from_string_array(values).to_string_array().tolist() == values


@quickly
@given(content=st.binary(max_size=40), count=st.integers(0, 5))
def test_any_memory_is_read_as_strings_or_refused(content: bytes, count: int) -> None:
    owner = np.frombuffer(content, np.uint8)
    buffer = ti.MemoryBuffer(owner.ctypes.data, ti.MemoryType.CPU, 0, len(content), owner)
    expected: list[bytes] | None = []
    rest = content
    while rest and expected is not None:
        size = int.from_bytes(rest[:4], "little")
        whole = len(rest) >= 4 + size
        expected = [*expected, rest[4 : 4 + size]] if whole else None
        rest = rest[4 + size :]
    if expected is not None and len(expected) != count:
        expected = None
    try:
        received = ti.Tensor(ti.DataType.BYTES, (count,), buffer).to_bytes_array().tolist()
    except ti.InvalidArgumentError:
        received = None
    assert received == expected


@examples(40)
@given(
    rows=st.lists(st.integers(1, BATCH), min_size=1, max_size=12),
    width=st.integers(0, 3),
    delay=st.sampled_from([0, 200]),
    kind=st.sampled_from(["numbers", "strings"]),
)
def test_batches_are_joined_and_parted(echo: Echo, rows: list[int], width: int, delay: int, kind: str) -> None:
    model = echo.model(np.int32 if kind == "numbers" else str, -1, batching=ti.Batching(max_queue_delay_us=delay))
    sent = []
    for number, count in enumerate(rows):
        array = (np.arange(count * width).reshape(count, width) + 1000 * number).astype(np.int32)
        sent.append(array if kind == "numbers" else array.astype("S").astype(object))

    async def use() -> list[Array]:
        async def one(array: Array) -> Array:
            async for response in model.async_infer(inputs={"x": array}):
                return response.outputs["y"].numpy()
            raise AssertionError("no response")

        return await asyncio.gather(*map(one, sent))

    for array, received in zip(sent, asyncio.run(use()), strict=True):
        assert received.shape == array.shape
        assert received.tolist() == array.tolist()


@examples(80)
@given(
    array=views(),
    declared=st.sampled_from(DTYPES),
    shape=st.lists(st.sampled_from([-1, 1, 2]), min_size=1, max_size=3).map(tuple),
)
def test_what_does_not_fit_the_model_is_refused(
    echo: Echo, array: Array, declared: np.dtype[Any], shape: tuple[int, ...]
) -> None:
    fits = (
        array.dtype.newbyteorder("=") == declared
        and array.ndim == len(shape)
        and all(wanted in (-1, size) for wanted, size in zip(shape, array.shape, strict=True))
    )
    model = echo.model(declared, *shape)
    if fits:
        assert same(answer(model, x=array), array)
    else:
        with pytest.raises(ti.InvalidArgumentError, match="'x'"):
            answer(model, x=array)
