"""Tensor.from_any: what becomes a tensor, of which type, with and without a copy."""

from __future__ import annotations

import array as python_array
import collections
import ctypes
import re
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from conftest import needs_string_dtype
from helpers_dlpack import Producer

import triton_inprocess as ti

Array = np.ndarray[Any, Any]
Data = ti.DataType
from_any = ti.Tensor.from_any


class Interface:
    """Tells of an array through the given attribute only."""

    def __init__(self, array: Array, attribute: str) -> None:
        self.array = array
        setattr(self, attribute, getattr(array, attribute))


class Convertible:
    """Becomes an array when asked."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.array


X = np.arange(6, dtype=np.float32).reshape(2, 3)

WITHOUT_COPY: dict[str, Callable[[], Any]] = {
    "array": lambda: X,
    "subclass": lambda: X.view(type("Subclass", (np.ndarray,), {})),
    "DLPack": lambda: Producer(X, X.shape, None),
    "DLPack capsule": X.__dlpack__,
    "buffer": lambda: memoryview(X),
    "array interface": lambda: Interface(X, "__array_interface__"),
    "array struct": lambda: Interface(X, "__array_struct__"),
    "ctypes": lambda: (ctypes.c_float * 3 * 2).from_buffer(X),
    "tensor": lambda: from_any(X),
}


@pytest.mark.parametrize("kind", WITHOUT_COPY)
def test_what_has_memory_is_read_where_it_lies(kind: str) -> None:
    for arguments in ({}, {"copy": False}, {"copy": False, "data_type": Data.FP32}):
        tensor = from_any(WITHOUT_COPY[kind](), **arguments)
        assert (tensor.data_type, tensor.shape, tensor.data_ptr) == (Data.FP32, (2, 3), X.ctypes.data)
        assert not tensor.numpy().flags.writeable
    copy = from_any(WITHOUT_COPY[kind](), copy=True)
    assert copy.data_ptr != X.ctypes.data
    np.testing.assert_array_equal(copy.numpy(), X)
    assert copy.numpy().flags.writeable


WITH_COPY: dict[str, tuple[Any, Data, Any]] = {
    "list": ([[1, 2], [3, 4]], Data.INT64, [[1, 2], [3, 4]]),
    "tuple": ((1.5, 2), Data.FP64, [1.5, 2]),
    "number": (3, Data.INT64, 3),
    "integers on both sides of 2**63": ([[0, 2**64 - 1], [1, 2]], Data.UINT64, [[0, 2**64 - 1], [1, 2]]),
    "bool": (True, Data.BOOL, True),
    "scalar": (np.float16(3), Data.FP16, 3),
    "str": ("é", Data.BYTES, "é".encode()),
    "bytes": (b"a\0", Data.BYTES, b"a\0"),
    "strings": (["a", b"b\0"], Data.BYTES, [b"a", b"b\0"]),
    "nested strings": ([["a", ""], ["日本", "b"]], Data.BYTES, [[b"a", b""], ["日本".encode(), b"b"]]),
    "object array": (np.array([["a"], [b"\0"]], object), Data.BYTES, [[b"a"], [b"\0"]]),
    "U array": (np.array(["a", "日本"]), Data.BYTES, [b"a", "日本".encode()]),
    "S array": (np.array([b"a", b"bc"]), Data.BYTES, [b"a", b"bc"]),
    "strided": (X[:, ::2], Data.FP32, [[0, 2], [3, 5]]),
    "transposed": (X.T, Data.FP32, [[0, 3], [1, 4], [2, 5]]),
    "every second of one dimension": (X.ravel()[::2], Data.FP32, [0, 2, 4]),
    "broadcast": (np.broadcast_to(np.float32(7), (2,)), Data.FP32, [7, 7]),
    "other byte order": (X[0].astype(">f4"), Data.FP32, [0, 1, 2]),
    "empty list": ([], Data.FP64, []),
    "range": (range(3), Data.INT64, [0, 1, 2]),
    "deque": (collections.deque([1.5]), Data.FP64, [1.5]),
    "UserList": (collections.UserList(["a"]), Data.BYTES, [b"a"]),
    "deque of lists": (collections.deque([["a", "b\0"]]), Data.BYTES, [[b"a", b"b\0"]]),
}


@pytest.mark.parametrize("kind", WITH_COPY)
def test_what_cannot_be_read_as_it_lies_is_copied(kind: str) -> None:
    value, data_type, expected = WITH_COPY[kind]
    for arguments in ({}, {"copy": True}, {"data_type": data_type}):
        tensor = from_any(value, **arguments)
        assert tensor.data_type == data_type
        assert tensor.tolist() == expected
    with pytest.raises(ValueError, match="copy is False"):
        from_any(value, copy=False)


@needs_string_dtype
def test_string_arrays_of_numpy_2() -> None:
    texts = ["a", "日本", "", "a\0b"]
    tensor = from_any(np.array(texts, np.dtypes.StringDType()))
    assert tensor.to_string_array().tolist() == texts
    back = tensor.to_string_array(dtype=np.dtypes.StringDType())
    assert back.dtype == np.dtypes.StringDType()
    assert back.tolist() == texts


def test_an_array_that_has_to_be_asked_for() -> None:
    assert from_any(Convertible(X)).tolist() == X.tolist()
    assert from_any(python_array.array("h", [1, -2])).data_type == Data.INT16
    assert from_any(bytearray(b"ab")).tolist() == [97, 98]


@pytest.mark.parametrize("spelling", [Data.INT16, "INT16", np.int16, "int16", np.dtype(np.int16)])
def test_spellings_of_a_data_type(spelling: Any) -> None:
    assert from_any([1, 2], spelling).data_type == Data.INT16


@pytest.mark.parametrize("wrong", ["FP8", Data.INVALID, complex, 7, "float8", "i4,,", "f4;"])
def test_what_is_no_data_type_is_named(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"data_type must be.*"):
        from_any([1, 2], wrong)


@pytest.mark.parametrize(
    ("value", "data_type", "expected"),
    [
        ([1, 2], Data.FP32, [1.0, 2.0]),
        ([0, 255], Data.UINT8, [0, 255]),
        ([True, False], Data.INT8, [1, 0]),
        (np.array([1, 2], np.int64), Data.UINT8, [1, 2]),
        (np.array([1.1, np.inf, -np.inf]), Data.FP32, [float(np.float32(1.1)), np.inf, -np.inf]),
        (np.array([2**63], np.uint64), Data.FP64, [2.0**63]),
        (X, Data.FP64, X.tolist()),
        (Producer(X, (2,), None), Data.FP16, [0, 1]),
        ([], Data.INT32, []),
    ],
)
def test_values_that_fit_are_converted(value: Any, data_type: Data, expected: Any) -> None:
    tensor = from_any(value, data_type)
    assert (tensor.data_type, tensor.tolist()) == (data_type, expected)


def test_tensors_are_converted_as_arrays_are() -> None:
    assert from_any(from_any([1, 2]), Data.INT8).tolist() == [1, 2]
    assert from_any(from_any([1.5, 2], "BF16"), Data.FP32).tolist() == [1.5, 2]


@pytest.mark.parametrize(
    ("value", "data_type", "error", "words"),
    [
        ([256], Data.UINT8, ValueError, "out of the range of UINT8"),
        ([-1], Data.UINT64, ValueError, "out of the range of UINT64"),
        (np.array([2**63], np.uint64), Data.INT64, ValueError, "out of the range of INT64"),
        ([1e39], Data.FP32, ValueError, "out of the range of FP32"),
        ([70000], Data.FP16, ValueError, "out of the range of FP16"),
        ([3.4e38], Data.BF16, ValueError, "out of the range of BF16"),
        ([1.5], Data.INT64, TypeError, "float64 values cannot become INT64"),
        ([1], Data.BOOL, TypeError, "int64 values cannot become BOOL"),
        (["a"], Data.FP32, TypeError, "cannot become FP32"),
        ([1], Data.BYTES, TypeError, "element 0 of a BYTES tensor must be str or bytes, not int"),
        (X, Data.BYTES, TypeError, "float32 values cannot become BYTES"),
        ([1 + 2j], None, TypeError, "complex128"),
        ([2**64], None, TypeError, "element 0 .*int.*64 bits"),
        (2**64, None, TypeError, "int.*64 bits"),
        (np.array([1, 2], object), None, TypeError, "element 0 .*int.*astype"),
        ([None], None, TypeError, "element 0 is of type NoneType"),
        ([Decimal(1)], None, TypeError, "element 0 is of type Decimal"),
        (np.array([], object), Data.FP32, TypeError, "object values cannot become FP32"),
        ([-1, 2**63], None, ValueError, "some integers are negative and some are of 64 bits"),
        ([-1, 2**63], Data.UINT64, ValueError, "some integers are negative and some are of 64 bits"),
        ([0, 2**64 - 1], Data.INT64, ValueError, "out of the range of INT64"),
        ([[1], [2, 3]], None, ValueError, "cannot make a tensor from a list: .*inhomogeneous"),
        ((x for x in [1]), None, TypeError, "generator: make a list of it"),
        ({1, 2}, None, TypeError, "set: make a list of it"),
        ({}.values(), None, TypeError, "dict_values: make a list of it"),
        (object(), None, TypeError, "tensor from object$"),
        (collections.UserString("a"), None, TypeError, "tensor from UserString$"),
        (np.ones(2, ml_dtypes.float8_e5m2), None, TypeError, "float8_e5m2.*UINT8"),
        (np.ma.MaskedArray([1], [True]), None, TypeError, "mask"),
        ({"a": 1}, None, TypeError, "dict"),
        (None, None, TypeError, "NoneType"),
        (["a", None], None, TypeError, "element 1 .*NoneType"),
        (["a", ["b"]], None, TypeError, "element 1 .*list"),
        (["a", 1], None, TypeError, "element 1 .*int"),
        ([1, "a"], None, TypeError, "element 0 .*int"),
        ([[True, 2.5], [3, b"a\0"]], None, TypeError, "element 0 .*bool"),
        (np.ones(2, ml_dtypes.bfloat16), Data.BYTES, TypeError, "bfloat16 values cannot become BYTES"),
    ],
)
def test_what_does_not_fit_is_refused(value: Any, data_type: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        from_any(value, data_type)


def test_integers_of_no_common_type_may_be_floats() -> None:
    assert from_any([-1, 2**63], Data.FP64).tolist() == [-1, 2.0**63]
    assert from_any([-1.0, 2**63]).tolist() == [-1, 2.0**63]


@pytest.mark.parametrize("copy", [0, 1, "no"])
def test_copy_is_a_bool(copy: Any) -> None:
    for value in (X, [1]):
        with pytest.raises(TypeError, match="copy must be a bool, not"):
            from_any(value, copy=copy)


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="numpy 1 asks no object for an array without a copy")
def test_an_object_that_has_to_copy_is_asked_not_to() -> None:
    class Lazy:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            if copy is False:
                raise ValueError("no array without a copy")
            return np.ones(2)

    assert from_any(Lazy()).tolist() == [1, 1]
    with pytest.raises(ValueError, match="without a copy"):
        from_any(Lazy(), copy=False)


def test_another_type_is_a_copy() -> None:
    with pytest.raises(ValueError, match="float32 values cannot become FP64 without a copy"):
        from_any(X, Data.FP64, copy=False)
    with pytest.raises(ValueError, match="bfloat16 values cannot become FP32 without a copy"):
        from_any(np.ones(2, ml_dtypes.bfloat16), Data.FP32, copy=False)


def test_what_has_a_method_of_dlpack_only_is_refused() -> None:
    class Half:
        def __dlpack__(self, **_: Any) -> Any:
            raise AssertionError("asked before the device")

    with pytest.raises(TypeError, match=r"Half.*__dlpack_device__"):
        from_any(Half())
    with pytest.raises(TypeError, match=r"int.*__dlpack__"):
        ti.Tensor.from_dlpack(7)


def test_unencodable_text_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        from_any(["a", "\ud800"])


# -- BF16 --------------------------------------------------------------------------------------------------------------


def test_uint16_may_be_the_bits_of_bfloat16() -> None:
    bits = np.array([0x3F80, 0xC000], np.uint16)
    tensor = from_any(bits, Data.BF16, copy=False)
    assert (tensor.data_ptr, tensor.tolist()) == (bits.ctypes.data, [1, -2])
    assert tensor.view(Data.UINT16).numpy().tolist() == bits.tolist()
    assert from_any(bits[::-1], Data.BF16).tolist() == [-2, 1]
    assert from_any(np.ones(2, ml_dtypes.bfloat16), copy=False).data_type == Data.BF16
    assert from_any(np.ones(2, ml_dtypes.bfloat16), Data.FP64).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint64, np.int64, np.bool_])
def test_bfloat16_is_rounded_as_ml_dtypes_does(dtype: Any) -> None:
    random = np.random.default_rng(1)
    bits = random.integers(0, 256, 8000, np.uint8)
    values = (bits % 2).astype(np.bool_) if dtype is np.bool_ else bits.view(dtype)
    with np.errstate(all="ignore"):
        values = values[np.abs(values.astype(np.float64)) < 3e38]
        expected = values.astype(np.float32).astype(ml_dtypes.bfloat16)
    tensor = from_any(values, Data.BF16)
    assert tensor.shape == values.shape
    if dtype in (np.float64, np.int64, np.uint64):  # which ml_dtypes rounds to float32 first
        exact = values.astype(np.longdouble)
        mine, theirs = (np.abs(each.astype(np.longdouble) - exact) for each in (tensor.numpy(), expected))
        assert np.all(mine <= theirs)
    else:
        assert tensor.view(Data.UINT16).numpy().tolist() == expected.view(np.uint16).tolist()


def test_bfloat16_keeps_what_is_no_number() -> None:
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)
    values.view(np.uint32)[0] = 0x7F800001  # whose upper half alone would be infinity
    rounded = from_any(values, Data.BF16).numpy().astype(np.float32)
    assert np.isnan(rounded[:2]).all()
    assert rounded[2:].tolist() == [np.inf, -np.inf, 0, 0]
    assert np.signbit(rounded[4])


def test_bfloat16_of_any_layout() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    for each in (values.T, values[::-1, ::2], values.astype(">f8"), np.float32(3), np.zeros((0, 2), np.float32)):
        assert from_any(each, Data.BF16).tolist() == each.tolist()


# -- out ---------------------------------------------------------------------------------------------------------------


def test_numpy_with_and_without_a_copy() -> None:
    tensor = from_any(X)
    assert tensor.numpy(copy=False).ctypes.data == tensor.numpy().ctypes.data == tensor.data_ptr
    copy = tensor.numpy(copy=True)
    assert copy.ctypes.data != tensor.data_ptr
    assert copy.flags.writeable
    strings = from_any(["a"])
    for refused in (strings.numpy, strings.__array__):
        with pytest.raises(ValueError, match="copy is False"):
            refused(copy=False)
    assert strings.numpy(copy=True).tolist() == [b"a"]


def test_lists() -> None:
    assert from_any(X).tolist() == X.tolist()
    assert from_any(np.float64(2.5)).tolist() == 2.5
    assert from_any([["a"], ["b"]]).tolist() == [[b"a"], [b"b"]]
    assert from_any(np.zeros((2, 0), np.int8)).tolist() == [[], []]


def test_views_of_another_type() -> None:
    tensor = from_any(X)
    assert tensor.view(Data.INT32).numpy().tobytes() == X.tobytes()
    assert tensor.view(Data.INT32).data_ptr == tensor.data_ptr
    with pytest.raises(TypeError, match=r"FP32.*FP64.*size"):
        tensor.view(Data.FP64)
    with pytest.raises(TypeError, match="BYTES"):
        tensor.view(Data.BYTES)


def test_decoding() -> None:
    raw = "é".encode("latin-1")
    tensor = from_any([raw, b"a"])
    with pytest.raises(UnicodeDecodeError):
        tensor.to_string_array()
    assert tensor.to_string_array("latin-1").tolist() == ["é", "a"]
    assert tensor.to_string_array(errors="replace").tolist() == ["\ufffd", "a"]
    assert tensor.to_string_array("utf-8", "ignore").tolist() == ["", "a"]
    assert tensor.to_string_array("ascii", "backslashreplace").tolist() == ["\\xe9", "a"]
    assert tensor.to_string_array("latin-1", dtype="U1").dtype == np.dtype("U1")
    with pytest.raises(LookupError, match="no-such"):
        tensor.to_string_array("no-such")
    with pytest.raises(TypeError, match="must be BYTES, not FP32"):
        from_any(X).to_string_array()


def test_malformed_bytes_name_element_and_offset() -> None:
    content = np.frombuffer(b"\1\0\0\0a\x09\0\0\0bc", np.uint8)
    buffer = ti.MemoryBuffer(content.ctypes.data, ti.MemoryType.CPU, 0, content.size, content)
    tensor = ti.Tensor(Data.BYTES, (2,), buffer)
    for read in (tensor.numpy, tensor.tolist, tensor.to_bytes_array, tensor.to_string_array):
        with pytest.raises(ti.InvalidArgumentError, match=r"element 1, offset 9"):
            read()


@pytest.mark.parametrize("size", [0, 23, 25, 48])
def test_a_claim_that_the_memory_does_not_meet_is_refused(size: int) -> None:
    buffer = ti.MemoryBuffer(X.ctypes.data, ti.MemoryType.CPU, 0, size, X)
    with pytest.raises(ti.InvalidArgumentError, match=rf"{re.escape('[2, 3]')} has 24 bytes.*{size}"):
        ti.Tensor(Data.FP32, (2, 3), buffer)


def test_a_large_copy_lets_others_run() -> None:
    big = np.zeros((4096, 4096), np.float32).T
    moments: list[int] = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            moments.append(1)
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = len(moments)
        for _ in range(3):
            from_any(big)
        assert len(moments) > before + 3
    finally:
        done.set()
        thread.join()
