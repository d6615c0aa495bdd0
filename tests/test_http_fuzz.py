"""The binary extension with whatever may come: an answer for each, and a server that goes on."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from conftest import add_echo, examples
from helpers_http import LENGTH, add_twice, read_answer
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import triton_inprocess as ti

FIXTURE = [HealthCheck.function_scoped_fixture]

names = st.sampled_from(["x", "y", "", "X"]) | st.text(max_size=3)
numbers = st.sampled_from([-1, 0, 1, 2, 4, 8, 9, 2**31, 2**63, 2**64, 1.5, True, None, "4"]) | st.integers()
types = st.sampled_from([*ti.DataType.__members__, "fp32", "", 3, None])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
parameters = st.dictionaries(
    st.sampled_from(
        [
            "binary_data_size",
            "binary_data",
            "classification",
            "shared_memory_region",
            "shared_memory_byte_size",
            "shared_memory_offset",
        ]
    ),
    numbers,
    max_size=3,
)
tensors = st.fixed_dictionaries(
    {},
    optional={
        "name": names,
        "shape": st.lists(numbers, max_size=3) | values,
        "datatype": types,
        "data": st.lists(scalars, max_size=4) | values,
        "parameters": parameters | values,
    },
)
headers = st.fixed_dictionaries(
    {},
    optional={
        "inputs": st.lists(tensors, max_size=3) | values,
        "outputs": st.lists(tensors, max_size=2) | values,
        "id": scalars,
        "parameters": st.dictionaries(
            st.sampled_from(["sequence_id", "sequence_start", "priority", "timeout", "binary_data_output", "more"]),
            numbers,
            max_size=2,
        )
        | values,
    },
)


class Fuzzed:
    """A server, and one connection that is kept as long as the server keeps it."""

    def __init__(self, serving: ti.Serving) -> None:
        self.connection = http.client.HTTPConnection(*serving.address, timeout=20)

    def post(self, path: str, body: bytes, **headers: str) -> int:
        """Send a body; the answer is well formed, and the status says whose fault it is."""
        self.connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = read_answer(self.connection)
        assert answer.status in (200, 400, 404, 413, 501), answer
        if answer.status != 200:
            assert answer.error
        return answer.status


@pytest.fixture
def fuzzed(server: ti.Server) -> Iterator[Fuzzed]:
    add_twice(server)
    add_echo(server, bytes, name="bytes")
    with server.serve(0) as serving:
        fuzzed = Fuzzed(serving)
        yield fuzzed
        fuzzed.connection.close()


@given(
    header=headers, data=st.binary(max_size=40), length=st.integers(-2, 2), model=st.sampled_from(["twice", "bytes"])
)
@examples(150, suppress_health_check=FIXTURE)
def test_any_json(fuzzed: Fuzzed, header: Any, data: bytes, length: int, model: str) -> None:
    text = json.dumps(header).encode()
    fuzzed.post(f"/v2/models/{model}/infer", text + data, **{LENGTH: str(max(0, len(text) + length))})


@given(body=st.binary(max_size=200), length=st.integers(-5, 205))
@examples(80, suppress_health_check=FIXTURE)
def test_any_bytes(fuzzed: Fuzzed, body: bytes, length: int) -> None:
    fuzzed.post("/v2/models/twice/infer", body, **{LENGTH: str(length)})


@given(
    sizes=st.lists(st.integers(0, 12), max_size=4),
    claimed=st.integers(-3, 3),
    cut=st.integers(0, 8),
    shape=st.integers(0, 6),
)
@examples(120, suppress_health_check=FIXTURE)
def test_any_lengths(fuzzed: Fuzzed, sizes: list[int], claimed: int, cut: int, shape: int) -> None:
    """BYTES whose lengths, sizes and shape may disagree: 200 only where they agree."""
    data = b"".join(size.to_bytes(4, "little") + bytes(size) for size in sizes)
    data = data[: max(0, len(data) - cut)]
    size = len(data) + claimed
    entry = {"name": "x", "shape": [shape], "datatype": "BYTES", "parameters": {"binary_data_size": size}}
    text = json.dumps({"inputs": [entry]}).encode()
    status = fuzzed.post("/v2/models/bytes/infer", text + data, **{LENGTH: str(len(text))})
    assert status == (200 if claimed == 0 and shape == _elements(data) else 400)


def _elements(data: bytes) -> int | None:
    """The number of elements in encoded BYTES; None where they are cut short."""
    count = position = 0
    while position < len(data):
        position += 4 + int.from_bytes(data[position : position + 4], "little")
        count += 1
    return count if position == len(data) else None


@given(data=st.binary(max_size=64), rows=st.integers(0, 16))
@examples(60, suppress_health_check=FIXTURE)
def test_good_requests_are_answered_right(fuzzed: Fuzzed, data: bytes, rows: int) -> None:
    data = data[: len(data) // 4 * 4]
    entry = {"name": "x", "shape": [len(data) // 4], "datatype": "FP32", "parameters": {"binary_data_size": len(data)}}
    text = json.dumps({"inputs": [entry], "parameters": {"binary_data_output": True}}).encode().ljust(rows + 150)
    fuzzed.connection.request("POST", "/v2/models/twice/infer", text + data, {LENGTH: str(len(text))})
    answer = read_answer(fuzzed.connection)
    assert answer.status == 200
    found = answer.body[int(answer.headers[LENGTH.lower()]) :] if data else b""
    with np.errstate(all="ignore"):
        assert np.array_equal(
            np.frombuffer(found, np.float32), np.frombuffer(data, np.float32) * np.float32(2), equal_nan=True
        )
