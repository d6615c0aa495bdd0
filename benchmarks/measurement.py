"""What is measured: a table. How each side does it stands with the sides (`Subject`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

SMALL_ELEMENTS = 16  # float32
LARGE_ELEMENTS = 16 << 20  # float32: 64 MiB
THREADS = 4

Comparison = Literal["ratio", "difference"]
"""How a value is set against the base's of the same repetition."""

Call = Callable[[int], Sequence[float]]
"""Does so many inferences and returns one number for each quantity of a measurement: seconds, or a plain number."""


@dataclass(frozen=True)
class Unit:
    """How a number becomes what is shown: `convert(number, inferences)`."""

    text: str
    convert: Callable[[float, int], float]
    digits: int = 1
    more_is_better: bool = False


MICROSECONDS_EACH = Unit("µs", lambda seconds, count: seconds / count * 1e6)
MILLISECONDS_EACH = Unit("ms", lambda seconds, count: seconds / count * 1e3, digits=2)
PER_SECOND = Unit("1/s", lambda seconds, count: count / seconds, digits=0, more_is_better=True)
MICROSECONDS = Unit("µs", lambda seconds, _: seconds * 1e6)
TIMES = Unit("x", lambda number, _: number, digits=2)
TIMES_MORE = Unit("x", lambda number, _: number, digits=2, more_is_better=True)


@dataclass(frozen=True)
class Goal:
    """What is good enough, pinned to one core, for a C++ model called from Python."""

    limit: float
    of: Literal["comparison", "value"] = "comparison"


@dataclass(frozen=True)
class Quantity:
    """One number that a measurement yields."""

    title: str
    unit: Unit
    goal: Goal | None = None

    def missed(self, value: float, comparison: float) -> bool:
        """Whether the goal is missed by this value, whose comparison with the base is that."""
        if self.goal is None:
            return False
        reached = comparison if self.goal.of == "comparison" else value
        return reached < self.goal.limit if self.unit.more_is_better else reached > self.goal.limit


@dataclass(frozen=True)
class Measurement:
    """Something that every side does in its way."""

    name: str
    quantities: tuple[Quantity, ...]
    divisor: int = 1
    """What the number of inferences of a run is divided by: how much dearer this is than 16 floats."""
    comparison: Comparison = "ratio"
    base: str = "the floor"
    """What the first column holds."""

    def count(self, inferences: int, subject: Subject) -> int:
        """How many inferences a subject does of it."""
        return max(1, inferences // (self.divisor * subject.slowness))


@dataclass(frozen=True)
class Subject:
    """One side: how it does what can be measured, by the measurement's name; what it cannot do is not there."""

    name: str
    calls: Mapping[str, Call]
    slowness: int = 1
    """What its numbers of inferences are divided by, so that the run ends in time."""


def _one(
    name: str,
    title: str,
    unit: Unit,
    goal: Goal | None = None,
    *,
    divisor: int = 1,
    comparison: Comparison = "ratio",
    base: str = "the floor",
) -> Measurement:
    return Measurement(name, (Quantity(title, unit, goal),), divisor, comparison, base)


MEASUREMENTS: tuple[Measurement, ...] = (
    _one("result", "sync, infer(...).result()", MICROSECONDS_EACH, Goal(1.6)),
    _one("iterator", "sync, for ... in infer(...)", MICROSECONDS_EACH, Goal(1.8)),
    _one("keywords", "sync, model(x=...)", MICROSECONDS_EACH, Goal(1.6)),
    _one("submit", "submitting alone", MICROSECONDS_EACH),
    _one("async.1", "asyncio, 1 in flight", PER_SECOND),
    _one("async.16", "asyncio, 16 in flight", PER_SECOND),
    _one("async.64", "asyncio, 64 in flight", PER_SECOND, Goal(0.33)),
    _one("many", "infer_many, 64 in flight", PER_SECOND, Goal(0.55)),
    _one("async_many", "async_infer_many, 64 in flight", PER_SECOND),
    Measurement(
        "percentiles",
        (
            Quantity("sync latency, p50", MICROSECONDS),
            Quantity("sync latency, p99", MICROSECONDS),
            Quantity("sync latency, p99.9", MICROSECONDS),
            Quantity("p99.9 / p50", TIMES, Goal(2.0)),
        ),
    ),
    _one("threads", f"{THREADS} threads of sync calls, beside 1", TIMES_MORE, Goal(1.0, of="value")),
    _one("large", "64 MiB, infer(...).result()", MILLISECONDS_EACH, Goal(1.1), divisor=2000, base="one warm memcpy"),
    _one("start", "server start", MILLISECONDS_EACH, Goal(5.0), divisor=20_000, comparison="difference"),
    _one(
        "import",
        "import triton_inprocess",
        MILLISECONDS_EACH,
        Goal(15.0),
        divisor=20_000,
        comparison="difference",
        base="import numpy",
    ),
)
