"""Some inferences in flight at any time, in tasks of an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from .target import Target


def in_flight(target: Target, number: int, count: int) -> float:
    """The seconds that `count` inferences take in `number` tasks, by way of `await async_infer(...)`."""
    return asyncio.run(_in_flight(target, number, count))


async def _in_flight(target: Target, number: int, count: int) -> float:
    turns = iter(range(count))  # shared: whoever is ready takes the next one, as the floor does
    start = time.perf_counter()
    await asyncio.gather(*(_worker(target, turns) for _ in range(number)))
    return time.perf_counter() - start


async def _worker(target: Target, turns: Iterator[int]) -> None:
    model, array, input_name, output_name = target.model, target.array, target.input_name, target.output_name
    for _ in turns:
        (await model.async_infer({input_name: array})).outputs[output_name].numpy()
