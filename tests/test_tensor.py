"""Tensors: from arrays and to arrays, without a copy where that is possible and right where it is not."""

from __future__ import annotations

import array as python_array
import ctypes
import gc
import re
import sys
import weakref
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import add_echo, answer, by_dlpack, needs_dlpack_1

import triton_inprocess as ti

Array = np.ndarray[Any, Any]

DATA_TYPES: list[tuple[Any, ti.DataType]] = [
    (np.bool_, ti.DataType.BOOL),
    (np.uint8, ti.DataType.UINT8),
    (np.uint16, ti.DataType.UINT16),
    (np.uint32, ti.DataType.UINT32),
    (np.uint64, ti.DataType.UINT64),
    (np.int8, ti.DataType.INT8),
    (np.int16, ti.DataType.INT16),
    (np.int32, ti.DataType.INT32),
    (np.int64, ti.DataType.INT64),
    (np.float16, ti.DataType.FP16),
    (np.float32, ti.DataType.FP32),
    (np.float64, ti.DataType.FP64),
    (np.longlong, ti.DataType.INT64),
    (np.ulonglong, ti.DataType.UINT64),
    (np.intc, ti.DataType.INT32),
    (np.uintc, ti.DataType.UINT32),
    (np.short, ti.DataType.INT16),
]


class Owner:
    """Something that owns memory and can be watched."""

    def __init__(self, byte_size: int) -> None:
        self.memory = (ctypes.c_char * byte_size)()

    def tensor(self, data_type: ti.DataType, shape: tuple[int, ...]) -> ti.Tensor:
        buffer = ti.MemoryBuffer(ctypes.addressof(self.memory), ti.MemoryType.CPU, 0, len(self.memory), self)
        return ti.Tensor(data_type, shape, buffer)


def owned_tensor(count: int = 4) -> tuple[ti.Tensor, weakref.ref[Owner]]:
    owner = Owner(4 * count)
    return owner.tensor(ti.DataType.FP32, (count,)), weakref.ref(owner)


class OneCapsule:
    """A producer that hands out one and the same capsule again and again."""

    def __init__(self, tensor: Any, **arguments: Any) -> None:
        self.capsule = tensor.__dlpack__(**arguments)

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def is_view(tensor: ti.Tensor, array: Array) -> bool:
    return tensor.data_ptr == array.ctypes.data


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "data_type"), DATA_TYPES)
def test_every_type_goes_in_and_out(server: ti.Server, dtype: Any, data_type: ti.DataType) -> None:
    model = add_echo(server, dtype)
    assert model.metadata()["inputs"][0]["datatype"] == data_type.name
    sent = np.arange(5).astype(dtype)
    received = answer(model, x=sent)
    assert (received.tolist(), received.shape, received.dtype) == (sent.tolist(), sent.shape, sent.dtype)


@pytest.mark.parametrize(("dtype", "data_type"), DATA_TYPES)
def test_every_type_becomes_a_tensor_over_the_same_memory(dtype: Any, data_type: ti.DataType) -> None:
    array = np.ones((2, 3), dtype)
    tensor = ti.Tensor.from_dlpack(array)
    assert (tensor.data_type, tensor.shape, tensor.size) == (data_type, (2, 3), array.nbytes)
    assert is_view(tensor, array)


@pytest.mark.parametrize("shape", [(2,), (0,), (2, 3), (1, 1)])
def test_booleans(server: ti.Server, shape: tuple[int, ...]) -> None:
    sent = np.arange(np.prod(shape)).reshape(shape) % 2 == 1
    model = add_echo(server, np.bool_, (-1,) * len(shape))
    received = answer(model, x=sent)
    assert received.dtype == np.bool_
    np.testing.assert_array_equal(received, sent)
    for from_dlpack in by_dlpack(ti.Tensor.from_dlpack(sent)):
        assert from_dlpack.dtype == np.bool_
        np.testing.assert_array_equal(from_dlpack, sent)


def test_bfloat16_with_ml_dtypes(server: ti.Server) -> None:
    sent = np.array([1.5, -2, np.inf, 3e38], ml_dtypes.bfloat16)
    received = answer(add_echo(server, ml_dtypes.bfloat16), x=sent)
    assert received.dtype == ml_dtypes.bfloat16
    assert received.tobytes() == sent.tobytes()


def test_bfloat16_that_is_strided(server: ti.Server) -> None:
    sent = np.arange(6).astype(ml_dtypes.bfloat16)[::-2]
    assert answer(add_echo(server, "BF16"), x=sent).tolist() == [5, 3, 1]


def test_bfloat16_is_not_taken_for_another_type_of_its_size(server: ti.Server) -> None:
    bits = add_echo(server, np.uint16, name="bits")
    with pytest.raises(ti.InvalidArgumentError, match=r"BF16.*UINT16|UINT16.*BF16"):
        bits.infer(inputs={"x": np.ones(3, ml_dtypes.bfloat16)})
    brain = add_echo(server, "BF16", name="brain")
    with pytest.raises(ti.InvalidArgumentError, match=r"FP16.*BF16|BF16.*FP16"):
        brain.infer(inputs={"x": np.ones(3, np.float16)})


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float8_says_how_to_send_the_bits(server: ti.Server, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}.*UINT8"):
        add_echo(server, np.uint8).infer(inputs={"x": np.ones(3, getattr(ml_dtypes, name))})


@pytest.mark.parametrize(
    "array",
    [
        np.ones(2, np.complex64),
        np.ones(2, "datetime64[s]"),
        np.ones(2, [("a", "f4")]),
        np.ones(2, np.longdouble),
        np.ones(4, np.void(b"abcd").dtype),
    ],
    ids=lambda array: str(array.dtype),
)
def test_types_that_triton_lacks_are_named(server: ti.Server, array: Array) -> None:
    with pytest.raises(TypeError, match=re.escape(array.dtype.name)):
        add_echo(server).infer(inputs={"x": array})


def test_int64_is_not_reinterpreted_as_uint8(server: ti.Server) -> None:
    model = add_echo(server, np.uint8, (2,), name="small")
    with pytest.raises(ti.InvalidArgumentError, match="INT64") as caught:
        model.infer(inputs={"x": np.array([1, 2], np.int64)})
    for word in ("x", "UINT8", "INT64", "small"):
        assert word in str(caught.value)


# -- shapes ------------------------------------------------------------------------------------------------------------

ZERO_SIZES = [(0,), (0, 3), (0, 0, 0), (1, 0, 2), (3, 0)]


@pytest.mark.parametrize("shape", ZERO_SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_zero_sizes_go_in_and_out(server: ti.Server, shape: tuple[int, ...], dtype: Any) -> None:
    model = add_echo(server, dtype, (-1,) * len(shape))
    for sent in (np.zeros(shape, dtype), ti.Tensor.from_dlpack(np.zeros(shape, dtype))):
        (response,) = model.infer(inputs={"x": sent})
        tensor = response.outputs["y"]
        assert (tensor.shape, tensor.size) == (shape, 0)
        for received in (tensor.numpy(), np.asarray(tensor), *by_dlpack(tensor)):
            assert (received.shape, received.dtype) == (shape, np.dtype(dtype))


@pytest.mark.parametrize("shape", ZERO_SIZES)
def test_a_zero_size_tensor_may_have_no_memory(server: ti.Server, shape: tuple[int, ...]) -> None:
    nothing = ti.Tensor(ti.DataType.FP32, shape, ti.MemoryBuffer(0, ti.MemoryType.CPU, 0, 0, None))
    assert nothing.numpy().shape == shape
    assert np.from_dlpack(nothing).shape == shape
    assert ti.Tensor.from_dlpack(nothing).shape == shape
    assert answer(add_echo(server, shape=(-1,) * len(shape)), x=nothing).shape == shape


@pytest.mark.parametrize("scalar", [np.float32(3), np.bool_(True), np.int64(-1), np.array(2.5, np.float16)])
def test_scalars_keep_the_empty_shape(scalar: Any) -> None:
    tensor = ti.Tensor.from_dlpack(np.asarray(scalar))
    assert tensor.shape == ()
    assert tensor.numpy().shape == ()
    assert tensor.numpy() == scalar
    assert all(view.shape == () for view in by_dlpack(tensor))


def test_scalars_are_not_taken_for_vectors(server: ti.Server) -> None:
    with pytest.raises(ti.InvalidArgumentError, match="x"):
        add_echo(server, shape=(1,)).infer(inputs={"x": np.float32(3)})


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.lib.stride_tricks.as_strided(np.arange(3, dtype=np.float32), (1, 3), (3200, 4)),
        lambda: np.lib.stride_tricks.as_strided(np.arange(4, dtype=np.float32), (4, 1), (4, 28)),
        lambda: np.arange(6, dtype=np.float32).reshape(2, 3)[:, None],
    ],
)
def test_the_stride_of_a_dimension_of_size_1_means_nothing(server: ti.Server, make: Callable[[], Array]) -> None:
    sent = make()
    tensor = ti.Tensor.from_dlpack(sent)
    assert is_view(tensor, sent)
    assert tensor.shape == sent.shape
    addresses: list[int] = []
    model = server.add_model(
        lambda x: addresses.append(x.ctypes.data) or x,
        name="model",
        inputs={"x": (np.float32, (-1,) * sent.ndim)},
        outputs={"y": (np.float32, (-1,) * sent.ndim)},
    )
    np.testing.assert_array_equal(answer(model, x=sent), sent)
    assert addresses == [sent.ctypes.data]


# -- what does not lie as it must --------------------------------------------------------------------------------------

LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "transposed": lambda array: array.T,
    "Fortran order": np.asfortranarray,
    "reversed": lambda array: array[::-1, ::-1],
    "every second": lambda array: array[::2, 1::2],
    "a column": lambda array: array[:, 1:2],
    "a slice": lambda array: array[1:3],
    "broadcast": lambda array: np.broadcast_to(array[0], (5, array.shape[1])),
    "another byte order": lambda array: array.astype(array.dtype.newbyteorder()),
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    "unaligned": lambda array: np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1).reshape(array.shape),
    "a subclass": lambda array: array.view(type("Subclass", (np.ndarray,), {})),
    "a matrix row": lambda array: array[2:3, :],
}


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_whatever_the_layout_the_values_arrive(server: ti.Server, layout: str, dtype: Any) -> None:
    sent = LAYOUTS[layout](np.arange(24).astype(dtype).reshape(4, 6))
    received = answer(add_echo(server, dtype, (-1, -1)), x=sent)
    np.testing.assert_array_equal(received, sent)
    assert received.shape == sent.shape
    assert received.dtype == np.dtype(dtype)


@pytest.mark.parametrize("layout", ["transposed", "reversed", "every second", "broadcast"])
def test_whatever_the_layout_tensors_have_the_values(layout: str) -> None:
    array = LAYOUTS[layout](np.arange(24, dtype=np.float32).reshape(4, 6))
    np.testing.assert_array_equal(ti.Tensor.from_dlpack(array).numpy(), array)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_whatever_the_layout_the_answers_of_a_function_arrive(server: ti.Server, layout: str) -> None:
    model = server.add_model(
        lambda x: np.asanyarray(LAYOUTS[layout](x)),
        name="model",
        inputs={"x": (np.float32, (-1, -1))},
        outputs={"y": (np.float32, (-1, -1))},
    )
    sent = np.arange(24, dtype=np.float32).reshape(4, 6)
    np.testing.assert_array_equal(answer(model, x=sent), LAYOUTS[layout](sent))


# -- other objects -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        (python_array.array("f", [1, 2]), "FP32", [1, 2]),
        (python_array.array("q", [1, -2]), "INT64", [1, -2]),
        (memoryview(np.arange(3, dtype=np.int16)), "INT16", [0, 1, 2]),
        (bytearray(b"abc"), "UINT8", [97, 98, 99]),
        ([1, 2, 3], "INT64", [1, 2, 3]),
        ([1.5, 2], "FP64", [1.5, 2]),
        ((True, False), "BOOL", [True, False]),
        (range(3), "INT64", [0, 1, 2]),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else type(value).__name__,
)
def test_what_has_a_type_of_its_own_can_be_an_input(
    server: ti.Server, value: Any, data_type: str, expected: list[Any]
) -> None:
    assert answer(add_echo(server, data_type), x=value).tolist() == expected


def test_a_list_of_arrays(server: ti.Server) -> None:
    rows = [np.ones(2, np.float32), np.zeros(2, np.float32)]
    assert answer(add_echo(server, shape=(-1, 2)), x=rows).tolist() == [[1, 1], [0, 0]]


def test_a_tensor_can_be_an_input_again(server: ti.Server) -> None:
    model = add_echo(server)
    (first,) = model.infer(inputs={"x": np.arange(3, dtype=np.float32)})
    (second,) = model.infer(inputs={"x": first.outputs["y"]})
    assert second.outputs["y"].numpy().tolist() == [0, 1, 2]


def test_a_masked_array_is_refused(server: ti.Server) -> None:
    masked = np.ma.MaskedArray([1, 2], [False, True], np.float32)
    with pytest.raises(TypeError, match="mask"):
        add_echo(server).infer(inputs={"x": masked})
    with pytest.raises(TypeError, match="mask"):
        ti.Tensor.from_dlpack(masked)


@pytest.mark.parametrize("value", [None, {"a": 1}, {1, 2}, object(), lambda: 0, [None], [{}]])
def test_what_cannot_be_a_tensor_is_refused_by_name(server: ti.Server, value: Any) -> None:
    with pytest.raises(TypeError, match="pixels"):
        server.add_model(
            lambda pixels: pixels,
            name="model",
            inputs={"pixels": (np.float32, (-1,))},
            outputs={"y": (np.float32, (-1,))},
        ).infer(inputs={"pixels": value})


def test_a_ragged_list_is_refused_by_name(server: ti.Server) -> None:
    with pytest.raises((TypeError, ValueError), match="pixels"):
        server.add_model(
            lambda pixels: pixels,
            name="model",
            inputs={"pixels": (np.float32, (-1, -1))},
            outputs={"y": (np.float32, (-1, -1))},
        ).infer(inputs={"pixels": [[1.0, 2.0], [3.0]]})


# -- the constructor ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (5,), (2, 3), (0,), ()])
def test_shape_and_memory_must_fit(shape: tuple[int, ...]) -> None:
    owner = Owner(16)
    with pytest.raises(ti.InvalidArgumentError, match="16"):
        owner.tensor(ti.DataType.FP32, shape)


@pytest.mark.parametrize("shape", [(-1,), (-2, -2), (2, -2), (1 << 62, 1 << 62), (1 << 33, 1 << 31)])
def test_impossible_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        Owner(16).tensor(ti.DataType.FP32, shape)


def test_a_tensor_has_a_type() -> None:
    with pytest.raises((TypeError, ValueError), match=r"data type|data_type|INVALID"):
        Owner(16).tensor(ti.DataType.INVALID, (4,))


def test_memory_that_is_nowhere_is_refused() -> None:
    with pytest.raises((ti.InvalidArgumentError, ValueError)):
        ti.Tensor(ti.DataType.FP32, (4,), ti.MemoryBuffer(0, ti.MemoryType.CPU, 0, 16, None))


@pytest.mark.parametrize(
    "arguments",
    [
        ("FP32", (4,)),
        (ti.DataType.FP32, 4),
        (ti.DataType.FP32, ("4",)),
        (ti.DataType.FP32, (4.0,)),
        (ti.DataType.FP32, (4,), b"0123456789abcdef"),
    ],
)
def test_the_constructor_takes_only_what_it_says(arguments: tuple[Any, ...]) -> None:
    data_type, shape, *buffer = arguments
    memory = Owner(16)
    right = ti.MemoryBuffer(ctypes.addressof(memory.memory), ti.MemoryType.CPU, 0, 16, memory)
    with pytest.raises(TypeError):
        ti.Tensor(data_type, shape, buffer[0] if buffer else right)


def test_the_text_form_says_type_and_shape() -> None:
    assert repr(ti.Tensor.from_dlpack(np.zeros((2, 3), np.int8))) == "Tensor(data_type=INT8, shape=[2, 3])"


# -- to numpy ----------------------------------------------------------------------------------------------------------


def test_arrays_are_views_of_the_tensor() -> None:
    tensor, _ = owned_tensor()
    views = [tensor.numpy(), np.asarray(tensor), np.from_dlpack(tensor), np.array(tensor, copy=False)]
    assert {view.ctypes.data for view in views} == {tensor.data_ptr}


def test_copies_are_copies() -> None:
    tensor, _ = owned_tensor()
    copies = [np.array(tensor), np.array(tensor, copy=True), tensor.__array__(copy=True)]
    assert tensor.data_ptr not in {copy.ctypes.data for copy in copies}
    assert all(copy.flags.writeable for copy in copies)


def test_another_dtype_is_a_conversion() -> None:
    tensor = ti.Tensor.from_dlpack(np.array([1.5, 2.5], np.float32))
    converted = np.asarray(tensor, dtype=np.float64)
    assert (converted.dtype, converted.tolist()) == (np.float64, [1.5, 2.5])
    assert np.asarray(tensor, dtype=np.float32).ctypes.data == tensor.data_ptr
    with pytest.raises(ValueError, match="copy"):
        tensor.__array__(np.float64, copy=False)


def test_functions_of_numpy_take_tensors() -> None:
    tensor = ti.Tensor.from_dlpack(np.array([1.5, 2.5], np.float32))
    assert np.sum(tensor) == 4
    assert np.stack([tensor, tensor]).shape == (2, 2)


def test_memory_of_a_caller_is_read_only() -> None:
    array = np.ones(3, np.float32)
    tensor = ti.Tensor.from_dlpack(array)
    for view in (tensor.numpy(), np.asarray(tensor), *by_dlpack(tensor)):
        assert not view.flags.writeable
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE|writeable"):
            view[0] = 2
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True
    assert array.tolist() == [1, 1, 1]


# -- DLPack ------------------------------------------------------------------------------------------------------------


def test_dlpack_can_be_exported_twice() -> None:
    tensor, death = owned_tensor()
    first, second = np.from_dlpack(tensor), np.from_dlpack(tensor)
    assert first.ctypes.data == second.ctypes.data == tensor.data_ptr
    del tensor, first
    assert death() is not None
    del second
    assert death() is None


@pytest.mark.parametrize(
    "version", [None, (0, 8), *(pytest.param(each, marks=needs_dlpack_1) for each in [(1, 0), (1, 1), (2, 0)])]
)
def test_a_capsule_is_consumed_once(version: tuple[int, int] | None) -> None:
    tensor, death = owned_tensor()
    producer = OneCapsule(tensor, max_version=version)
    consumed = np.from_dlpack(producer)
    assert consumed.ctypes.data == tensor.data_ptr
    for consume in (np.from_dlpack, ti.Tensor.from_dlpack):
        with pytest.raises((ValueError, TypeError, BufferError, ti.TritonError)):
            consume(producer)
    del tensor, consumed, producer
    assert death() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_consumes_is_freed(version: tuple[int, int] | None) -> None:
    tensor, death = owned_tensor()
    capsule = tensor.__dlpack__(max_version=version)
    del tensor
    assert death() is not None
    del capsule
    assert death() is None


def test_new_consumers_get_versioned_capsules() -> None:
    tensor, _ = owned_tensor()
    assert '"dltensor_versioned"' in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(tensor.__dlpack__())
    assert '"dltensor"' in repr(tensor.__dlpack__(max_version=(0, 9)))


def test_an_old_consumer_gets_no_read_only_memory() -> None:
    tensor = ti.Tensor.from_dlpack(np.ones(3, np.float32))
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()


@needs_dlpack_1
def test_a_copy_may_be_asked_for() -> None:
    tensor, _ = owned_tensor()
    copy = np.from_dlpack(OneCapsule(tensor, max_version=(1, 0), copy=True))
    assert copy.ctypes.data != tensor.data_ptr
    np.testing.assert_array_equal(copy, tensor.numpy())
    same = np.from_dlpack(OneCapsule(tensor, max_version=(1, 0), copy=False))
    assert same.ctypes.data == tensor.data_ptr


def test_an_old_consumer_may_have_a_copy_of_read_only_memory() -> None:
    tensor = ti.Tensor.from_dlpack(np.ones(3, np.float32))
    assert np.from_dlpack(OneCapsule(tensor, copy=True)).tolist() == [1, 1, 1]


def test_the_device_is_host_memory() -> None:
    tensor, _ = owned_tensor()
    assert tensor.__dlpack_device__() == (1, 0)
    tensor.__dlpack__(dl_device=(1, 0), stream=None)
    with pytest.raises(BufferError, match="device"):
        tensor.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream"):
        tensor.__dlpack__(stream=1)


def test_arguments_of_dlpack_are_keywords() -> None:
    tensor, _ = owned_tensor()
    with pytest.raises(TypeError):
        tensor.__dlpack__(None)  # type: ignore[misc]


def test_bytes_do_not_go_through_dlpack() -> None:
    with pytest.raises(BufferError, match="BYTES"):
        ti.Tensor.from_bytes_array([b"a"]).__dlpack__()


@pytest.mark.parametrize("value", [None, 3, "text", [1.0]])
def test_only_producers_are_imported(value: Any) -> None:
    with pytest.raises((TypeError, AttributeError)):
        ti.Tensor.from_dlpack(value)


def test_whatever_exports_dlpack_can_be_an_input(server: ti.Server) -> None:
    class Producer:
        def __init__(self, array: Array) -> None:
            self.array = array

        def __dlpack__(self, **arguments: Any) -> Any:
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    assert answer(add_echo(server), x=Producer(np.arange(3, dtype=np.float32))).tolist() == [0, 1, 2]


def test_a_producer_that_fails_says_so_itself(server: ti.Server) -> None:
    class Producer:
        def __dlpack__(self, **_: Any) -> Any:
            raise RuntimeError("out of paper")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    with pytest.raises(RuntimeError, match="out of paper"):
        add_echo(server).infer(inputs={"x": Producer()})


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_the_owner_lives_as_long_as_any_user() -> None:
    tensor, death = owned_tensor()
    view = tensor.numpy()
    part = view[1:]
    buffer = tensor.memory_buffer
    for name in ("tensor", "view", "part"):
        assert death() is not None, name
        if name == "tensor":
            del tensor
        elif name == "view":
            del view
        else:
            del part
    assert death() is not None
    del buffer
    assert death() is None


def test_an_array_from_an_answer_keeps_its_memory(server: ti.Server) -> None:
    model = add_echo(server)
    (response,) = model.infer(inputs={"x": np.full(1000, 3, np.float32)})
    view = response.outputs["y"].numpy()
    del response
    for _ in range(10):
        answer(model, x=np.zeros(1000, np.float32))
    assert (view == 3).all()


@needs_dlpack_1
def test_ten_thousand_round_trips_leave_nothing() -> None:
    array = np.ones(1000, np.float32)
    references = sys.getrefcount(array)
    gc.collect()
    gc.disable()
    try:
        blocks = sys.getallocatedblocks()
        for _ in range(10_000):
            np.from_dlpack(ti.Tensor.from_dlpack(array)).sum()
        assert sys.getrefcount(array) == references
        assert sys.getallocatedblocks() - blocks < 1000
    finally:
        gc.enable()
