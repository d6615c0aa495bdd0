"""Some inferences in flight at any time, by way of `infer_many`; each function returns the seconds of them all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from .target import FloatArray, Target


def many(target: Target, in_flight: int, count: int) -> float:
    """By way of `infer_many`."""
    output_name = target.output_name
    start = time.perf_counter()
    for response in target.model.infer_many(_requests(target, count), max_in_flight=in_flight):
        response.outputs[output_name].numpy()
    return time.perf_counter() - start


def async_many(target: Target, in_flight: int, count: int) -> float:
    """By way of `async_infer_many`."""
    return asyncio.run(_async_many(target, in_flight, count))


async def _async_many(target: Target, in_flight: int, count: int) -> float:
    output_name = target.output_name
    start = time.perf_counter()
    async for response in target.model.async_infer_many(_requests(target, count), max_in_flight=in_flight):
        response.outputs[output_name].numpy()
    return time.perf_counter() - start


def _requests(target: Target, count: int) -> Iterator[dict[str, FloatArray]]:
    array, input_name = target.array, target.input_name
    return ({input_name: array} for _ in range(count))
