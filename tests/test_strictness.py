"""Nothing is silently converted, cut off or lost."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import triton_inprocess as ti


def function_model(server: ti.Server, value: Any, dtype: Any) -> ti.Model:
    return server.add_model(
        lambda x: value, name="m", inputs={"x": (np.float32, (1,))}, outputs={"y": (dtype, (len(value),))}
    )


def infer(model: ti.Model) -> np.ndarray:
    (response,) = model.infer(inputs={"x": np.ones(1, np.float32)})
    return response.outputs["y"].numpy()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1.7, 2.9], np.int64),
        (["1", "2"], np.int64),
        ([1e300], np.float32),
        ([2, 0], np.bool_),
        ([300], np.uint8),
        ([-1], np.uint32),
        ([2**63], np.int64),
        ([70000.0], np.float16),
    ],
)
def test_a_list_that_does_not_fit_is_refused(server: ti.Server, value: list[Any], dtype: Any) -> None:
    with pytest.raises(ti.InternalError, match="'y'"):
        infer(function_model(server, value, dtype))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1, 2], np.float32),
        ([1, 2], np.int8),
        ([255, 0], np.uint8),
        ([True, False], np.bool_),
        ([0.5, float("inf")], np.float32),
        ([True, False], np.int32),
    ],
)
def test_a_list_that_fits_is_taken(server: ti.Server, value: list[Any], dtype: Any) -> None:
    result = infer(function_model(server, value, dtype))
    assert result.dtype == dtype
    assert result.tolist() == np.array(value, dtype).tolist()


def test_a_nan_in_a_list_stays_one(server: ti.Server) -> None:
    assert np.isnan(infer(function_model(server, [float("nan")], np.float32))).all()


def test_a_queue_of_asyncio_is_refused_where_nobody_would_await_it(server: ti.Server) -> None:
    model = function_model(server, [1.0], np.float32)
    with pytest.raises(TypeError, match="response_queue"):
        model.infer(inputs={"x": np.ones(1, np.float32)}, response_queue=asyncio.Queue())


def test_a_nul_does_not_cut_off_a_name(server: ti.Server) -> None:
    function_model(server, [1.0], np.float32)
    for call in (server.model, server.load, server.unload, server.remove_model):
        with pytest.raises(ValueError, match="NUL"):
            call("m\0n")
    with pytest.raises(ValueError, match="server_id"):
        ti.Server(server_id="a\0b").start()


class Hostile:
    def __index__(self) -> int:
        raise KeyError("hostile")


@pytest.mark.parametrize("field", ["priority", "timeout", "flags", "correlation_id"])
def test_an_exception_of_an_index_method_comes_through(server: ti.Server, field: str) -> None:
    model = function_model(server, [1.0], np.float32)
    with pytest.raises(KeyError, match="hostile"):
        model.infer(inputs={"x": np.ones(1, np.float32)}, **{field: Hostile()})
    with pytest.raises(KeyError, match="hostile"):
        model.infer(inputs={"x": np.ones(1, np.float32)}, parameters={"a": Hostile()})


def test_a_batch_of_bytes_is_split_by_rows(server: ti.Server) -> None:
    def repeat(count: np.ndarray) -> np.ndarray:
        rows = [[b"x" * int(each), b""] for each in count[:, 0]]
        return np.array(rows, dtype=object)

    model = server.add_model(
        repeat,
        name="repeat",
        inputs={"count": (np.int32, (1,))},
        outputs={"text": (bytes, (2,))},
        max_batch_size=64,
        batching=ti.Batching(max_queue_delay_us=50_000, preferred_sizes=[64]),
    )

    async def one(count: int) -> list[list[bytes]]:
        async for response in model.async_infer(inputs={"count": np.array([[count]], np.int32)}):
            return response.outputs["text"].numpy().tolist()
        raise AssertionError("no response")

    async def everything() -> list[list[list[bytes]]]:
        return await asyncio.gather(*(one(count) for count in range(64)))

    assert asyncio.run(everything()) == [[[b"x" * count, b""]] for count in range(64)]
    (statistics,) = model.statistics()["model_stats"]
    assert statistics["execution_count"] < 64
