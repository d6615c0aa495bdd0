"""BYTES: strings and byte strings, in and out, every byte of them."""

from __future__ import annotations

import ctypes
import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from conftest import add_echo, answer, needs_string_dtype

import triton_inprocess as ti

STRINGS = ["hello", "é", "日本", "", "a\0b"]
TRAILING = [b"a\0", b""]


def string_dtype() -> Any:
    return np.dtypes.StringDType()


@pytest.fixture
def echo(server: ti.Server) -> ti.Model:
    return add_echo(server, str)


@pytest.fixture
def echo_2d(server: ti.Server) -> ti.Model:
    return add_echo(server, bytes, (-1, -1))


def encoded(strings: list[str]) -> list[bytes]:
    return [string.encode() for string in strings]


def objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


# -- in ----------------------------------------------------------------------------------------------------------------


def test_a_list_of_strings(echo: ti.Model) -> None:
    received = answer(echo, x=STRINGS)
    assert (received.dtype, received.shape) == (np.dtype(object), (5,))
    assert received.tolist() == encoded(STRINGS)


def test_a_list_of_bytes_keeps_trailing_nuls(echo: ti.Model) -> None:
    assert answer(echo, x=TRAILING).tolist() == TRAILING


def test_a_tuple(echo: ti.Model) -> None:
    assert answer(echo, x=tuple(STRINGS)).tolist() == encoded(STRINGS)


def test_strings_and_bytes_mixed(echo: ti.Model) -> None:
    assert answer(echo, x=["é", b"\xff\0"]).tolist() == ["é".encode(), b"\xff\0"]


@pytest.mark.parametrize("values", [STRINGS, encoded(STRINGS), TRAILING, ["é", b"\xff\0"]])
def test_an_object_array_keeps_everything(echo: ti.Model, values: list[Any]) -> None:
    expected = [value.encode() if isinstance(value, str) else value for value in values]
    assert answer(echo, x=objects(values)).tolist() == expected


def test_an_array_of_unicode(echo: ti.Model) -> None:
    assert answer(echo, x=np.array(STRINGS)).tolist() == encoded(STRINGS)


def test_an_array_of_bytes(echo: ti.Model) -> None:
    assert answer(echo, x=np.array(encoded(STRINGS))).tolist() == encoded(STRINGS)


def test_numpys_own_rule_drops_trailing_nuls(echo: ti.Model) -> None:
    assert answer(echo, x=np.array(TRAILING)).tolist() == [b"a", b""]


@needs_string_dtype
def test_an_array_of_strings_of_any_length(echo: ti.Model) -> None:
    assert answer(echo, x=np.array([*STRINGS, "a\0"], string_dtype())).tolist() == encoded([*STRINGS, "a\0"])


def test_numpys_string_scalars(echo: ti.Model) -> None:
    assert answer(echo, x=objects([np.str_("é"), np.bytes_(b"\xff")])).tolist() == ["é".encode(), b"\xff"]


@pytest.mark.parametrize("kind", ["list", "object", "unicode", "bytes"])
def test_two_dimensions(echo_2d: ti.Model, kind: str) -> None:
    rows = [["a", "bb"], ["ccc", ""], ["é", "ffffff"]]
    expected = [encoded(row) for row in rows]
    sent: Any = {
        "list": rows,
        "object": np.array(rows, object),
        "unicode": np.array(rows),
        "bytes": np.array(expected),
    }[kind]
    received = answer(echo_2d, x=sent)
    assert received.shape == (3, 2)
    assert received.tolist() == expected


@needs_string_dtype
def test_two_dimensions_of_strings_of_any_length(echo_2d: ti.Model) -> None:
    rows = [["a", "bb"], ["ccc", ""]]
    assert answer(echo_2d, x=np.array(rows, string_dtype())).tolist() == [encoded(row) for row in rows]


@pytest.mark.parametrize(
    "sent",
    [
        np.array(["a", "b", "c", "d"], object)[::-2],
        np.array(["a", "b", "c", "d"])[::-2],
        np.array([b"a", b"b", b"c", b"d"])[::-2],
    ],
)
def test_strided_arrays(echo: ti.Model, sent: Any) -> None:
    assert answer(echo, x=sent).tolist() == [b"d", b"b"]


def test_transposed_arrays(echo_2d: ti.Model) -> None:
    assert answer(echo_2d, x=np.array([["a", "b"], ["c", "d"]]).T).tolist() == [[b"a", b"c"], [b"b", b"d"]]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_no_strings_at_all(server: ti.Server, shape: tuple[int, ...]) -> None:
    model = add_echo(server, str, (-1,) * len(shape))
    received = answer(model, x=np.empty(shape, object))
    assert (received.shape, received.dtype) == (shape, np.dtype(object))


def test_a_long_value(echo: ti.Model) -> None:
    value = bytes(range(256)) * 400  # 100 KB
    assert answer(echo, x=[value, b"", value[::-1]]).tolist() == [value, b"", value[::-1]]


def test_a_million_short_strings() -> None:
    # A loop in Python over the elements of both ways would take longer than this, with room for a slow machine.
    values = [b"%d" % number for number in range(1_000_000)]
    begin = time.monotonic()
    tensor = ti.Tensor.from_bytes_array(values)
    received = tensor.to_bytes_array()
    seconds = time.monotonic() - begin
    assert tensor.size == sum(map(len, values)) + 4 * len(values)
    assert received.tolist() == values
    assert seconds < 2


def test_a_million_short_strings_through_a_model(echo: ti.Model) -> None:
    values = np.array([b"%d" % number for number in range(1_000_000)], object)
    assert (answer(echo, x=values) == values).all()


def test_one_long_string_does_not_make_the_short_ones_long(echo: ti.Model) -> None:
    # An array of numpy's S or U type of these would take 80 MB.
    values = ["short"] * 200 + ["long" * 25_000]
    tracemalloc.start()
    try:
        received = answer(echo, x=values)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert received.tolist() == encoded(values)
    assert peak < 4_000_000


# -- what the function sees --------------------------------------------------------------------------------------------


def test_a_function_gets_objects_of_bytes_and_may_return_any_form(server: ti.Server) -> None:
    seen: list[np.ndarray[Any, Any]] = []

    def shout(x: np.ndarray[Any, Any]) -> list[str]:
        seen.append(x)
        return [element.decode().upper() for element in x]

    model = server.add_model(shout, name="shout", inputs={"x": (str, (-1,))}, outputs={"y": ("BYTES", (-1,))})
    assert answer(model, x=["a", "é"]).tolist() == [b"A", "É".encode()]
    assert (seen[0].dtype, seen[0].tolist(), seen[0].flags.writeable) == (
        np.dtype(object),
        [b"a", "é".encode()],
        False,
    )


@pytest.mark.parametrize(
    "returned",
    [
        ["a", "é"],
        ("unused",),
        np.array(["a", "é"]),
        np.array(["a", "é"], object),
        np.array([b"a", "é".encode()]),
        [b"a", "é".encode()],
    ],
    ids=["list", "tuple", "unicode", "object", "bytes", "list of bytes"],
)
def test_strings_may_be_returned_as(server: ti.Server, returned: Any) -> None:
    if isinstance(returned, tuple):
        returned = (["a", "é"],)  # one output, whose value is a list
    model = server.add_model(
        lambda x: returned, name="model", inputs={"x": (np.float32, (1,))}, outputs={"y": (str, (-1,))}
    )
    assert answer(model, x=np.zeros(1, np.float32)).tolist() == [b"a", "é".encode()]


def test_strings_of_different_lengths_in_one_batch(server: ti.Server) -> None:
    model = add_echo(server, str, (2,), max_batch_size=12, batching=ti.Batching(5_000_000, [12]))
    rows = [[["a" * number, "b"]] * (number % 3 + 1) for number in range(6)]
    sent = [model.infer(inputs={"x": np.array(row, object)}) for row in rows]
    for row, responses in zip(rows, sent, strict=True):
        (response,) = responses
        assert response.outputs["y"].to_string_array().tolist() == row


# -- out ---------------------------------------------------------------------------------------------------------------


def test_strings_and_bytes_can_be_had(echo: ti.Model) -> None:
    (response,) = echo.infer(inputs={"x": STRINGS})
    tensor = response.outputs["y"]
    assert tensor.data_type is ti.DataType.BYTES
    assert tensor.to_string_array().tolist() == STRINGS
    assert tensor.to_bytes_array().tolist() == encoded(STRINGS)
    assert tensor.numpy().tolist() == np.asarray(tensor).tolist() == encoded(STRINGS)
    assert tensor.to_string_array().dtype == np.dtype(object)


def test_what_is_no_utf_8_can_be_had_as_bytes_only(echo: ti.Model) -> None:
    (response,) = echo.infer(inputs={"x": [b"\xff"]})
    assert response.outputs["y"].to_bytes_array().tolist() == [b"\xff"]
    with pytest.raises(UnicodeDecodeError):
        response.outputs["y"].to_string_array()


def test_arrays_of_bytes_are_copies_that_may_be_changed(echo: ti.Model) -> None:
    (response,) = echo.infer(inputs={"x": ["a"]})
    response.outputs["y"].numpy()[0] = b"changed"
    assert response.outputs["y"].numpy().tolist() == [b"a"]


# -- tensors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [STRINGS, [["a", "b"], ["c", "d"]], np.array(STRINGS), objects(STRINGS), "single"])
def test_tensors_from_strings(value: Any) -> None:
    tensor = ti.Tensor.from_string_array(value)
    expected = np.asarray(value, object)
    assert (tensor.data_type, tensor.shape) == (ti.DataType.BYTES, expected.shape)
    assert tensor.to_string_array().tolist() == expected.tolist()


@pytest.mark.parametrize("value", [TRAILING, [[b"a\0", b"b"]], objects(TRAILING), b"single\0"])
def test_tensors_from_bytes(value: Any) -> None:
    tensor = ti.Tensor.from_bytes_array(value)
    expected = value.tolist() if isinstance(value, np.ndarray) else value
    assert tensor.to_bytes_array().tolist() == expected


def test_the_bytes_are_tritons(server: ti.Server) -> None:
    tensor = ti.Tensor.from_bytes_array([b"ab", b""])
    assert ctypes.string_at(tensor.data_ptr, tensor.size) == struct.pack("<I2sI", 2, b"ab", 0)


def test_a_tensor_made_of_strings_can_be_sent(echo: ti.Model) -> None:
    assert answer(echo, x=ti.Tensor.from_string_array(STRINGS)).tolist() == encoded(STRINGS)


def raw(content: bytes, shape: tuple[int, ...]) -> ti.Tensor:
    buffer = ctypes.create_string_buffer(content, len(content))
    return ti.Tensor(
        ti.DataType.BYTES,
        shape,
        ti.MemoryBuffer(ctypes.addressof(buffer), ti.MemoryType.CPU, 0, len(content), buffer),
    )


def test_bytes_in_tritons_form_may_be_given(echo: ti.Model) -> None:
    tensor = raw(struct.pack("<I2sI", 2, b"ab", 0), (2,))
    assert tensor.to_bytes_array().tolist() == [b"ab", b""]
    assert answer(echo, x=tensor).tolist() == [b"ab", b""]


@pytest.mark.parametrize(
    "content",
    [
        b"\2",
        struct.pack("<I", 2),
        struct.pack("<I1s", 2, b"a"),
        struct.pack("<I2s", 2, b"ab"),
        struct.pack("<I2sI", 2, b"ab", 0xFFFFFFFF),
        struct.pack("<III", 0, 0, 0),
        struct.pack("<II1s", 0, 0, b"x"),
    ],
)
def test_what_is_not_in_tritons_form_is_refused(echo: ti.Model, content: bytes) -> None:
    with pytest.raises(ti.InvalidArgumentError):
        raw(content, (2,)).to_bytes_array()
    with pytest.raises(ti.InvalidArgumentError):
        answer(echo, x=raw(content, (2,)))


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        ["a", None],
        objects(["a", None]),
        objects([b"a", 3]),
        objects(["a", ["b"]]),
        ["a", 3],
        [b"a", 3.5],
        objects([np.nan]),
    ],
    ids=str,
)
def test_what_is_no_string_is_refused_by_name(server: ti.Server, value: Any) -> None:
    model = server.add_model(
        lambda words: words, name="model", inputs={"words": (str, (-1,))}, outputs={"y": (str, (-1,))}
    )
    with pytest.raises(TypeError, match="words"):
        model.infer(inputs={"words": value})


@pytest.mark.parametrize("make", [ti.Tensor.from_string_array, ti.Tensor.from_bytes_array])
@pytest.mark.parametrize("value", [3, ["a", None], [3], objects([b"a", 3.5]), np.ones(3), {"a": "b"}])
def test_tensors_are_made_of_strings_only(make: Any, value: Any) -> None:
    with pytest.raises(TypeError, match="str or bytes"):
        make(value)
    with pytest.raises(TypeError):
        make(None)


def test_the_element_that_is_no_string_is_counted(echo: ti.Model) -> None:
    with pytest.raises(TypeError, match=r"\b2\b.*NoneType"):
        echo.infer(inputs={"x": ["a", "b", None]})


def test_half_a_surrogate_pair_is_refused(echo: ti.Model) -> None:
    with pytest.raises(UnicodeEncodeError):
        echo.infer(inputs={"x": ["\ud800"]})


def test_ragged_strings_are_refused(echo_2d: ti.Model) -> None:
    with pytest.raises((TypeError, ValueError)):
        echo_2d.infer(inputs={"x": [["a", "b"], ["c"]]})


@pytest.mark.parametrize("method", ["to_string_array", "to_bytes_array"])
def test_numbers_are_no_strings(method: str) -> None:
    tensor = ti.Tensor.from_dlpack(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="FP32"):
        getattr(tensor, method)()


def test_numbers_for_strings_are_refused(echo: ti.Model) -> None:
    with pytest.raises(ti.InvalidArgumentError, match=r"FP32.*BYTES|BYTES.*FP32|FP32.*STRING|STRING.*FP32"):
        echo.infer(inputs={"x": np.ones(3, np.float32)})


def test_strings_for_numbers_are_refused(server: ti.Server) -> None:
    model = add_echo(server)
    with pytest.raises(ti.InvalidArgumentError, match=r"FP32, not BYTES"):
        model.infer(inputs={"x": np.array(["1", "2"])})
    with pytest.raises(TypeError, match="str values cannot become FP32"):
        model.infer(inputs={"x": ["1", "2"]})
