"""`python -m benchmarks.tensors`: what becomes a tensor and back, beside the nearest thing that numpy or Python does.

Both sides take turns; the numbers are medians, and ratios of what was measured right after one another.
"""

from __future__ import annotations

import argparse
import json
import platform
import timeit
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import triton_inprocess as ti

from .results import Summary

SMALL, LARGE = 16, 16 << 20  # float32: 64 bytes, 64 MiB
STRINGS = [f"{number:020d}".encode() for number in range(10_000)]
_SECONDS = 0.02  # that one repetition takes, so that the clock's steps do not matter


@dataclass(frozen=True)
class Comparison:
    """Our way to do something, the yardstick, and what is good enough: at most so many µs, or times the yardstick."""

    name: str
    ours: Callable[[], object]
    yardstick_name: str
    yardstick: Callable[[], object]
    most_microseconds: float | None = None
    most_times: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What was measured of a comparison: nanoseconds, and ours in terms of the yardstick."""

    name: str
    yardstick_name: str
    most_microseconds: float | None
    most_times: float | None
    ours: Summary
    yardstick: Summary
    ratio: Summary

    @property
    def goal(self) -> str:
        """The goal in words, and whether it was missed."""
        words, missed = "", False
        if self.most_microseconds is not None:
            words, missed = f"{self.most_microseconds} µs", self.ours.median > self.most_microseconds * 1000
        elif self.most_times is not None:
            words, missed = f"x {self.most_times}", self.ratio.median > self.most_times
        return f"{words} [bold red]missed[/]" if missed else words


def comparisons() -> Iterator[Comparison]:
    """Everything that is compared."""
    small = np.arange(SMALL, dtype=np.float32)
    large = np.arange(LARGE, dtype=np.float32)
    tensor = ti.Tensor.from_any(small)
    large_tensor = ti.Tensor.from_any(large)
    strided = np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024).T
    strings = ti.Tensor.from_any(STRINGS)
    views = [memoryview(each) for each in STRINGS]
    from_any, from_dlpack = ti.Tensor.from_any, np.from_dlpack
    array_to_array = "numpy.from_dlpack(array)"
    yield Comparison("from_any(array)", lambda: from_any(small), array_to_array, lambda: from_dlpack(small), 0.5)
    yield Comparison(
        "from_any(array), 64 MiB", lambda: from_any(large), array_to_array, lambda: from_dlpack(large), 0.5
    )
    yield Comparison("tensor.numpy()", tensor.numpy, array_to_array, lambda: from_dlpack(small), 0.5)
    yield Comparison("tensor.numpy(), 64 MiB", large_tensor.numpy, array_to_array, lambda: from_dlpack(large), 0.5)
    yield Comparison(
        "numpy.from_dlpack(tensor)",
        lambda: from_dlpack(tensor),
        array_to_array,
        lambda: from_dlpack(small),
        most_times=1.5,
    )
    yield Comparison(
        "from_any(transposed), 4 MiB",
        lambda: from_any(strided),
        "numpy.ascontiguousarray",
        lambda: np.ascontiguousarray(strided),
    )
    yield Comparison(
        "from_any(10,000 strings)", lambda: from_any(STRINGS), "b''.join", lambda: b"".join(STRINGS), most_times=2
    )
    yield Comparison(
        "to_bytes_array(), 10,000",
        strings.to_bytes_array,
        "list(map(bytes, views))",
        lambda: [*map(bytes, views)],
        most_times=2,
    )


def measure(comparison: Comparison, repetitions: int) -> Outcome:
    """Both sides in turns; the first round does not count."""
    sides = [comparison.ours, comparison.yardstick]
    numbers = [max(1, int(_SECONDS / (timeit.timeit(side, number=3) / 3))) for side in sides]
    rounds: list[list[float]] = []
    for _ in range(repetitions + 1):
        rounds.append(
            [timeit.timeit(side, number=number) / number * 1e9 for side, number in zip(sides, numbers, strict=True)]
        )
    ours, yardstick = zip(*rounds[1:], strict=True)
    return Outcome(
        comparison.name,
        comparison.yardstick_name,
        comparison.most_microseconds,
        comparison.most_times,
        Summary.of(ours),
        Summary.of(yardstick),
        Summary.of([mine / theirs for mine, theirs in rounds[1:]]),
    )


def print_table(outcomes: list[Outcome], repetitions: int) -> None:
    """One line per comparison."""
    table = Table(title="Tensors beside numpy and Python", show_lines=False)
    for header in ("", "µs", "yardstick", "µs", "ratio", "goal"):
        table.add_column(header, justify="right" if header in ("µs", "ratio") else "left")
    for each in outcomes:
        ratio = f"x {each.ratio.median:.2f} ({each.ratio.minimum:.2f}-{each.ratio.maximum:.2f})"
        ours, yardstick = (f"{value.median / 1000:,.2f}" for value in (each.ours, each.yardstick))
        table.add_row(each.name, ours, each.yardstick_name, yardstick, ratio, each.goal)
    console = Console()
    console.print(table)
    console.print(
        f"Medians and extremes of {repetitions} repetitions, in turns; numpy {np.__version__}, "
        f"Python {platform.python_version()}",
        style="dim",
        highlight=False,
    )


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tensors", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    parser.add_argument("--repetitions", type=int, default=9, help="repetitions of each comparison (9)")
    arguments = parser.parse_args()
    outcomes = [measure(comparison, arguments.repetitions) for comparison in comparisons()]
    if arguments.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        print_table(outcomes, arguments.repetitions)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
