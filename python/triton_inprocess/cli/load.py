"""Requests that are sent to a model for some seconds, and what they took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import TritonError
from ..model import Model

__all__ = ["Level", "Load", "Sender"]

_PERCENTILES = {"p50_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}


@dataclass(frozen=True)
class Load:
    """How much is sent: so many requests in flight, or (`open`) so many requests a second whatever is answered."""

    amount: float
    batch_size: int | None
    open: bool = False

    @property
    def kind(self) -> str:
        """What `amount` counts."""
        return "requests per second sent" if self.open else "requests in flight"


@dataclass
class Level:
    """What was measured under a load.

    Latencies are seconds; of an open load from the time on that a request was due, so that one which had to wait for
    the sender counts as late as it was.
    """

    load: Load
    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    failures: int = 0
    first_error: str | None = None
    mean_batch: float | None = None
    queue_ms: float | None = None

    def row(self) -> dict[str, Any]:
        """The numbers, as JSON takes them."""
        size = self.load.batch_size or 1
        count = len(self.latencies)
        rate = count / self.seconds if self.seconds else 0.0
        row: dict[str, Any] = {
            "load": self.load.amount,
            "load_kind": self.load.kind,
            "batch_size": size,
            "requests": count,
            "failures": self.failures,
            "seconds": self.seconds,
            "requests_per_second": rate,
            "inferences_per_second": rate * size,
        }
        milliseconds = np.array(self.latencies) * 1e3
        for name, percentile in _PERCENTILES.items():
            row[name] = float(np.percentile(milliseconds, percentile)) if count else None
        row["mean_ms"] = float(milliseconds.mean()) if count else None
        row["mean_executed_batch"] = self.mean_batch
        row["mean_queue_ms"] = self.queue_ms
        row["first_error"] = self.first_error
        return row


class Sender:
    """Sends the same inputs again and again."""

    def __init__(self, model: Model, inputs: Mapping[str, Any], parameters: Mapping[str, Any]) -> None:
        """What is sent, to whom."""
        self._model = model
        self._inputs = dict(inputs)
        self._parameters = parameters

    async def send(self, level: Level, seconds: float) -> None:
        """Sends the level's load for so many seconds, waits for the answers and fills the level."""
        before = self._counts()
        started = time.perf_counter()
        if level.load.open:
            await self._open(level, started, seconds)
        else:
            loops = (self._loop(level, started + seconds) for _ in range(int(level.load.amount)))
            await asyncio.gather(*loops)
        level.seconds = time.perf_counter() - started
        self._compare(level, before, self._counts())

    async def _loop(self, level: Level, end: float) -> None:
        while (now := time.perf_counter()) < end:
            await self._request(level, now)

    async def _open(self, level: Level, started: float, seconds: float) -> None:
        requests: set[asyncio.Task[None]] = set()
        for number in range(int(seconds * level.load.amount)):
            due = started + number / level.load.amount
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.ensure_future(self._request(level, due))
            requests.add(task)
            task.add_done_callback(requests.discard)
        await asyncio.gather(*requests)

    async def _request(self, level: Level, due: float) -> None:
        try:
            async for response in self._model.async_infer(self._inputs, parameters=self._parameters):
                del response
        except TritonError as error:
            level.failures += 1
            level.first_error = level.first_error or f"{type(error).__name__}: {error}"
            await asyncio.sleep(0)  # where each fails at once, the others and the clock get their turn
        else:
            level.latencies.append(time.perf_counter() - due)

    def _counts(self) -> tuple[int, int, int, int]:
        totals = [0, 0, 0, 0]
        for each in self._model.statistics()["model_stats"]:
            queue = each["inference_stats"]["queue"]
            numbers = (each["inference_count"], each["execution_count"], queue["count"], queue["ns"])
            totals = [total + int(number) for total, number in zip(totals, numbers, strict=True)]
        inferences, executions, queued, nanoseconds = totals
        return inferences, executions, queued, nanoseconds

    @staticmethod
    def _compare(level: Level, before: tuple[int, ...], after: tuple[int, ...]) -> None:
        inferences, executions, queued, nanoseconds = (b - a for a, b in zip(before, after, strict=True))
        if executions:
            level.mean_batch = inferences / executions
        if queued:
            level.queue_ms = nanoseconds / queued / 1e6
