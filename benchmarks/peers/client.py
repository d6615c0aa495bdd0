"""What can be measured of anything that takes an array and answers with one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import percentiles
from benchmarks.measurement import LARGE_ELEMENTS, SMALL_ELEMENTS, Call

FloatArray = npt.NDArray[np.float32]
Infer = Callable[[FloatArray], Any]
InferAsync = Callable[[FloatArray], Awaitable[Any]]
InLoop = Callable[[Callable[[InferAsync], Awaitable[float]]], Awaitable[float]]
"""Calls what it is given with an asynchronous client that it opens and closes in the running loop."""


@dataclass
class Client:
    """A peer's way to infer, for both sizes."""

    infer: Infer
    infer_large: Infer
    in_loop: InLoop | None = None
    lacking: dict[str, str] = field(default_factory=dict)
    """Measurements that do not work here, and why."""

    def __post_init__(self) -> None:
        self._small = np.arange(SMALL_ELEMENTS, dtype=np.float32)
        self._large = np.arange(LARGE_ELEMENTS, dtype=np.float32)

    def check(self) -> None:
        """Raises what infer raises, and RuntimeError for a wrong answer; large arrays may fail, which is kept."""
        _expect(self.infer(self._small), self._small)
        try:
            _expect(self.infer_large(self._large), self._large)
        except Exception as error:
            self.lacking["large"] = f"{type(error).__name__}: {error}"

    def calls(self) -> dict[str, Call]:
        """What can be measured, as a side has it."""
        calls: dict[str, Call] = {
            "result": lambda count: (self._seconds(self.infer, self._small, count),),
            "percentiles": lambda count: percentiles.tail_of(self._latencies(count)),
            "large": lambda count: (self._seconds(self.infer_large, self._large, count),),
        }
        if self.in_loop is not None:
            for in_flight in (1, 16, 64):
                calls[f"async.{in_flight}"] = _bound(self._in_flight, in_flight)
        return {name: call for name, call in calls.items() if name not in self.lacking}

    @staticmethod
    def _seconds(infer: Infer, array: FloatArray, count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            infer(array)
        return time.perf_counter() - start

    def _latencies(self, count: int) -> list[float]:
        return [self._seconds(self.infer, self._small, 1) for _ in range(count)]

    def _in_flight(self, in_flight: int, count: int) -> tuple[float]:
        assert self.in_loop is not None
        opened = self.in_loop

        async def run(infer: InferAsync) -> float:
            turns = iter(range(count))
            start = time.perf_counter()
            await asyncio.gather(*(self._worker(infer, turns) for _ in range(in_flight)))
            return time.perf_counter() - start

        async def main() -> float:
            return await opened(run)

        return (asyncio.run(main()),)

    async def _worker(self, infer: InferAsync, turns: Iterator[int]) -> None:
        array = self._small
        for _ in turns:
            await infer(array)


def _bound(run: Callable[[int, int], tuple[float]], in_flight: int) -> Call:
    return lambda count: run(in_flight, count)


def _expect(answer: Any, expected: FloatArray) -> None:
    if not np.array_equal(np.asarray(answer), expected):
        raise RuntimeError(f"the model does not answer with its input: {answer!r}")
