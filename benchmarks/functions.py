"""`python -m benchmarks.functions`: Python functions as models, beside the floor, a plain call, Triton's own backend.

Each line's two sides take turns; the numbers are medians, and ratios of what was measured right after one another. What
one core can tell runs pinned to it; lag and instances need both cores, and run first.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

import triton_inprocess as ti

from . import async_calls, sync_calls
from .artifacts import Artifacts
from .environment import describe
from .errors import BenchmarkError
from .floor_side import floor_program
from .line_process import LineProcess
from .measurement import LARGE_ELEMENTS, SMALL_ELEMENTS
from .options import add_common, pin, positive
from .percentiles import tail_of
from .report import print_environment
from .repository import write_repository
from .results import Summary
from .stub_model import StubModel, stub_model
from .target import FloatArray, Target

Seconds = Callable[[], float]
"""Does it once; what one inference takes, or whatever else a line is about."""

_X, _Y = {"x": (np.float32, (-1,))}, {"y": (np.float32, (-1,))}
_ROW = SMALL_ELEMENTS * 16
_ROWS = 64
_HASHED = 4 << 20  # bytes: the function takes some milliseconds without the GIL
_LAG_SECONDS = 0.5
_WIDTH = 160  # of a table in a file
_TICK = 0.001  # seconds that the loop sleeps between two looks at the clock


@dataclass(frozen=True)
class Line:
    """Something of ours, what it is set against, and what is good enough: of our value, or of the ratio."""

    name: str
    ours: Seconds
    base_name: str
    base: Seconds
    unit: Literal["µs", "ms", "1/s", "x"] = "µs"
    most: float | None = None
    most_times: float | None = None
    least_times: float | None = None

    def shown(self, value: float) -> float:
        """A measured value in the line's unit."""
        return {"µs": value * 1e6, "ms": value * 1e3, "1/s": 1 / value, "x": value}[self.unit]


@dataclass(frozen=True)
class Outcome:
    """What was measured of a line."""

    name: str
    base_name: str
    unit: str
    ours: Summary
    base: Summary
    ratio: Summary
    goal: str
    missed: bool


def measure(line: Line, repetitions: int) -> Outcome:
    """Both sides in turns; the first round does not count."""
    rounds = [(line.shown(line.base()), line.shown(line.ours())) for _ in range(repetitions + 1)][1:]
    base, ours = (Summary.of([each[side] for each in rounds]) for side in (0, 1))
    ratio = Summary.of([mine / theirs for theirs, mine in rounds])
    goals = [
        (f"at most {line.most:g} {line.unit}", ours.median > line.most) if line.most is not None else None,
        (f"at most x {line.most_times:g}", ratio.median > line.most_times) if line.most_times is not None else None,
        (f"at least x {line.least_times:g}", ratio.median < line.least_times) if line.least_times is not None else None,
    ]
    given = [goal for goal in goals if goal is not None]
    words = "; ".join(text for text, _ in given)
    return Outcome(line.name, line.base_name, line.unit, ours, base, ratio, words, any(missed for _, missed in given))


# -- what needs both cores ---------------------------------------------------------------------------------------------


def _hash(x: FloatArray) -> FloatArray:
    digest: FloatArray = np.frombuffer(hashlib.sha256(x.data).digest(), np.float32)
    return digest


def _in_flight(model: ti.Model, array: FloatArray, count: int, at_once: int) -> float:
    """The seconds that each takes, as many at once."""
    start = time.perf_counter()
    for _ in model.infer_many(({"x": array} for _ in range(count)), max_in_flight=at_once):
        pass
    return (time.perf_counter() - start) / count


async def _lags(seconds: float, busy: Callable[[], Any] | None) -> list[float]:
    """By how much the loop is late each time that it sleeps, while `busy` is awaited again and again."""
    lags: list[float] = []
    ended = asyncio.Event()

    async def work() -> None:
        while not ended.is_set():
            if busy is not None:
                await busy()
            else:
                await ended.wait()

    working = asyncio.ensure_future(work())
    end = time.perf_counter() + seconds
    while (before := time.perf_counter()) < end:
        await asyncio.sleep(_TICK)
        lags.append(time.perf_counter() - before - _TICK)
    ended.set()
    await working
    return lags


def _lag(busy: Callable[[], Any] | None) -> float:
    return tail_of(asyncio.run(_lags(_LAG_SECONDS, busy)))[1]


def two_core_lines(server: ti.Server) -> Iterator[Line]:
    """How late an event loop is while a function computes, and whether two instances run at once."""
    hashed = np.zeros(_HASHED // 4, np.float32)
    digest = {"y": (np.float32, (8,))}
    one = server.add_model(_hash, name="one", inputs=_X, outputs=digest)
    two = server.add_model(_hash, name="two", inputs=_X, outputs=digest, instances=2)
    yield Line(
        "2 instances of a function without the GIL",
        lambda: _in_flight(two, hashed, 30, 4),
        "1 instance",
        lambda: _in_flight(one, hashed, 30, 4),
        unit="1/s",
        least_times=1.7,
    )
    square = np.random.default_rng(1).random((500, 500), np.float32)

    def multiply(x: FloatArray) -> FloatArray:
        return np.sort(x @ x, axis=0)

    matrix = (np.float32, (-1, -1))
    computing = server.add_model(multiply, name="multiply", inputs={"x": matrix}, outputs={"y": matrix})

    async def busy() -> None:
        await computing.async_infer({"x": square})

    yield Line(
        "lag of the client's loop while a function computes, p99",
        lambda: _lag(busy),
        "an idle loop",
        lambda: _lag(None),
        unit="ms",
    )


# -- what one core tells -----------------------------------------------------------------------------------------------


class _Ready:
    """A function that returns arrays that were made before, each once: nobody else has them."""

    def __init__(self, elements: int) -> None:
        self._elements = elements
        self._ready: list[FloatArray] = []

    def make(self, count: int) -> None:
        """So many, whose pages nobody has touched."""
        self._ready = [np.empty(self._elements, np.float32) for _ in range(count)]

    def __call__(self, x: FloatArray) -> FloatArray:
        return self._ready.pop()


def _each(target: Target, count: int) -> float:
    return sync_calls.result(target, count) / count


def _without_dropping(target: Target, count: int) -> float:
    """The seconds of each; the responses go when that is known."""
    responses = []
    start = time.perf_counter()
    for _ in range(count):
        response = target.model.infer({target.input_name: target.array}).result()
        response.outputs[target.output_name].numpy()
        responses.append(response)
    return (time.perf_counter() - start) / count


def _batch_of_rows(model: ti.Model, rows: Sequence[FloatArray]) -> float:
    start = time.perf_counter()
    for each in [model.infer({"x": row}) for row in rows]:
        each.result().outputs["y"].numpy()
    return time.perf_counter() - start


def one_core_lines(server: ti.Server, floor: LineProcess, count: int) -> Iterator[Line]:
    """What it costs to have a function called."""

    def floor_seconds(command: str = "latency", times: int = count) -> float:
        return float(floor.ask(f"{command} {times}")["seconds"]) / times

    small = np.arange(SMALL_ELEMENTS, dtype=np.float32)
    large = np.arange(LARGE_ELEMENTS, dtype=np.float32)
    echo = Target(server.add_model(lambda x: x, name="echo", inputs=_X, outputs=_Y), small, "x", "y")
    fresh = replace(echo, model=server.add_model(lambda x: x + 0, name="fresh", inputs=_X, outputs=_Y))
    always = replace(echo, model=server.add_model(lambda x: x, name="always", inputs=_X, outputs=_Y, adopt="always"))
    ready = _Ready(LARGE_ELEMENTS)
    from_ready = replace(echo, model=server.add_model(ready, name="ready", inputs=_X, outputs=_Y), array=large)
    for target in (echo, fresh, always):
        target.check()
    few = max(3, min(count // 200, 50))  # they are all there at once
    for name, target in (("identity", echo), ("a fresh array", fresh), ('identity, adopt="always"', always)):
        yield Line(
            f"16 floats, {name}",
            partial(_each, target, count),
            "floor",
            floor_seconds,
            most_times=1.9 if target is echo else None,
        )
    yield Line(
        "asyncio, 64 in flight, identity of 16 floats",
        lambda: async_calls.in_flight(echo, 64, count) / count,
        "floor",
        lambda: floor_seconds("rate 64"),
        unit="1/s",
        least_times=0.27,
    )
    fixed = replace(always, array=large)
    yield Line(
        '64 MiB in and out, adopt="always"',
        partial(_each, fixed, max(1, count // 10)),
        "floor, 16 floats",
        floor_seconds,
        most=20,
    )

    def ready_arrays() -> float:
        ready.make(few)
        return _without_dropping(from_ready, few)

    yield Line("64 MiB in and out, ready fresh arrays", ready_arrays, "floor, 16 floats", floor_seconds, most=20)
    yield _batch_line(server, floor_seconds)


def _batch_line(server: ti.Server, floor_seconds: Callable[[], float]) -> Line:
    weights = np.random.default_rng(1).random((_ROW, _ROW), np.float32)
    rows = [np.full((1, _ROW), number, np.float32) for number in range(_ROWS)]
    joined = np.concatenate(rows)

    def function(x: FloatArray) -> FloatArray:
        result: FloatArray = np.tanh(x @ weights)
        return result

    batching = ti.Batching(max_queue_delay_us=100_000, preferred_sizes=[_ROWS])
    model = server.add_model(function, name="rows", inputs=_X, outputs=_Y, max_batch_size=_ROWS, batching=batching)

    def allowance() -> float:
        start = time.perf_counter()
        function(joined)
        return 2 * (time.perf_counter() - start) + _ROWS * floor_seconds()

    return Line(
        f"{_ROWS} requests of one row, batched",
        lambda: _batch_of_rows(model, rows),
        f"2 plain calls + {_ROWS} floors",
        allowance,
        most_times=1,
    )


def stub_lines(server: ti.Server, stub: StubModel, count: int) -> Iterator[Line]:
    """The same function in this process, in Triton's python backend, and called plainly."""
    model = server.add_model(lambda x: x + 1, name="increment", inputs=_X, outputs=_Y)
    for name, elements, times in (("16 floats", SMALL_ELEMENTS, max(1, count // 20)), ("64 MiB", LARGE_ELEMENTS, 3)):
        target = Target(model, np.arange(elements, dtype=np.float32), "x", "y")
        ours = partial(_each, target, times)
        yield Line(f"x + 1, {name}", ours, "a plain call", partial(_plain, target.array, times))
        if not stub.missing:
            yield Line(f"x + 1, {name}", ours, "Triton's python backend", partial(stub.seconds, elements, times))


def _plain(array: FloatArray, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        array + 1
    return (time.perf_counter() - start) / count


def print_table(outcomes: Sequence[Outcome], console: Console) -> None:
    """One line each."""
    table = Table(title="Python functions as models", show_lines=True)
    for header in ("", "ours", "beside", "", "ratio", "goal"):
        table.add_column(header, justify="right" if header in ("ours", "ratio") else "left")
    for each in outcomes:
        ours, base, ratio = (_text(summary) for summary in (each.ours, each.base, each.ratio))
        goal = f"{each.goal} [bold red]missed[/]" if each.missed else each.goal
        table.add_row(each.name, f"{ours} {each.unit}", each.base_name, f"{base} {each.unit}", f"x {ratio}", goal)
    console.print(table)


def _text(summary: Summary) -> str:
    median, least, most = (
        f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        for value in (summary.median, summary.minimum, summary.maximum)
    )
    return f"{median} ({least}-{most})"


def _run(arguments: argparse.Namespace, artifacts: Artifacts) -> tuple[list[Outcome], Mapping[str, str]]:
    runtime = ti.runtime.load()
    repetitions, outcomes = arguments.repetitions, []
    if not arguments.one_core:
        with ti.Server(gpu_metrics=False) as server:
            outcomes += [measure(line, repetitions) for line in two_core_lines(server)]
    pin(arguments.pin)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triton-inprocess-benchmarks-")))
        repository, stubs = folder / "models", folder / "stubs"
        repository.mkdir()
        write_repository(repository)
        floor = stack.enter_context(floor_program(artifacts, Path(runtime.path), repository))
        stub = stack.enter_context(stub_model(arguments.stub_python, Path(runtime.path), stubs))
        server = stack.enter_context(ti.Server(gpu_metrics=False))
        outcomes += [measure(line, repetitions) for line in one_core_lines(server, floor, arguments.inferences)]
        outcomes += [measure(line, repetitions) for line in stub_lines(server, stub, arguments.inferences)]
    return outcomes, {"Triton's python backend": stub.missing} if stub.missing else {}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functions", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured there, too")
    parser.add_argument("--repetitions", type=positive, default=7, help="repetitions of each measurement (7)")
    parser.add_argument("--inferences", type=positive, default=10_000, help="inferences per repetition (10000)")
    parser.add_argument("--one-core", action="store_true", help="leave out what needs two cores")
    parser.add_argument(
        "--stub-python",
        type=Path,
        metavar="PYTHON",
        help="an interpreter with a numpy before 2, for Triton's own python backend",
    )
    add_common(parser)
    return parser


def main(words: list[str] | None = None) -> int:
    """Measures and prints; returns the exit status."""
    arguments = _parser().parse_args(words)
    artifacts = Artifacts(arguments.build_directory.resolve())
    try:
        artifacts.build()
        outcomes, missing = _run(arguments, artifacts)
    except (BenchmarkError, ti.TritonError) as error:
        print(f"benchmarks.functions: {error}", file=sys.stderr)
        return 1
    environment = describe(
        ti.runtime.load(),
        module="benchmarks.functions",
        pinned_to_core=arguments.pin,
        inferences=arguments.inferences,
        repetitions=arguments.repetitions,
        missing_peers=dict(missing),
    )
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    print_table(outcomes, console)
    print_environment(environment, console)
    if arguments.json is not None:
        document = {"environment": asdict(environment), "results": [asdict(each) for each in outcomes]}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
