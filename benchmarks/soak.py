"""`python -m benchmarks.soak`: whether memory grows with the number of requests, here and in the floor.

Each kind of request is made many times; in between, the resident memory of the process is looked at. What it grows by
per request is the slope of the best straight line, without the first part, in which pools and caches fill.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import triton_inprocess as ti

from . import async_calls, sync_calls
from .artifacts import Artifacts
from .environment import command_line
from .errors import BenchmarkError
from .floor_side import floor_program
from .measurement import SMALL_ELEMENTS
from .memory import resident_bytes, slope
from .options import add_common, pin, positive
from .repository import INPUT_NAME, MODEL_NAME, OUTPUT_NAME, write_repository
from .target import Target

_PARTS = 25
_WARM_PARTS = 5
_KINDS = ("floor", "sync", "asyncio", "refused")


@dataclass(frozen=True)
class Kind:
    """Something that is done many times in a process."""

    name: str
    process: int
    run: Callable[[int], object]
    divisor: int = 1
    """What the number of requests is divided by: how much dearer it is."""


@dataclass
class Growth:
    """How much memory a process had after so many requests."""

    kind: str
    requests: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    @property
    def bytes_per_request(self) -> float:
        """The slope, without the first part."""
        return slope(self.requests[_WARM_PARTS:], self.resident[_WARM_PARTS:])

    @property
    def bytes_in_all(self) -> int:
        """What has been added since the first part."""
        return self.resident[-1] - self.resident[_WARM_PARTS]


def soak(kind: Kind, requests: int, advance: Callable[[], None]) -> Growth:
    """Does it so many times, and looks at the memory in between; `advance` is called `_PARTS` times."""
    growth = Growth(kind.name)
    total = max(_PARTS, requests // kind.divisor)
    done = 0
    gc.freeze()  # what is there already need not be looked at again and again
    try:
        for part in range(1, _PARTS + 1):
            kind.run(total * part // _PARTS - done)
            done = total * part // _PARTS
            gc.collect()  # what waits in cycles is no leak
            growth.requests.append(done)
            growth.resident.append(resident_bytes(kind.process))
            advance()
    finally:
        gc.unfreeze()
    return growth


def _refuse(server: ti.Server, target: Target, count: int) -> None:
    """Requests that are refused: by this package's checks in turn with those that only Triton can refuse."""
    wrong_shape = np.zeros(SMALL_ELEMENTS + 1, dtype=np.float32)
    model, other_version = target.model, server.model(MODEL_NAME, 7)
    refused: list[Callable[[], object]] = [
        lambda: model.infer({INPUT_NAME: wrong_shape}),
        lambda: model.infer({"NONE": target.array}),
        lambda: model.infer({}),
        lambda: model.infer(target.inputs, no_such_field=1),  # type: ignore[call-overload]
        lambda: other_version.infer(target.inputs),
    ]
    for number in range(count):
        try:
            refused[number % len(refused)]()
        except (ti.TritonError, TypeError, ValueError):
            continue
        raise BenchmarkError(f"a request that is wrong was not refused: number {number % len(refused)}")


def kinds(stack: ExitStack, artifacts: Artifacts, names: Sequence[str]) -> Iterator[Kind]:
    """What these names mean; servers and the floor are stopped with the stack."""
    runtime = ti.runtime.load()
    ti.runtime.open_forwarder()  # the identity backend has no dependency on libtritonserver of its own
    repository = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triton-inprocess-benchmarks-")))
    write_repository(repository)
    floor = stack.enter_context(floor_program(artifacts, Path(runtime.path), repository))
    server = stack.enter_context(ti.Server(model_repository=repository, backend_directory=artifacts.backend_directory))
    array = np.arange(SMALL_ELEMENTS, dtype=np.float32)
    target = Target(server.model(MODEL_NAME), array, INPUT_NAME, OUTPUT_NAME)
    here = os.getpid()
    table = {
        "floor": Kind("floor", floor.identifier, lambda count: floor.ask(f"rate 64 {count}")),
        "sync": Kind("sync", here, lambda count: sync_calls.result(target, count)),
        "asyncio": Kind("asyncio", here, lambda count: async_calls.in_flight(target, 64, count)),
        "refused": Kind("refused", here, lambda count: _refuse(server, target, count), divisor=50),
    }
    for name in names:
        yield table[name]


def _print(growths: Sequence[Growth], console: Console) -> None:
    table = Table(title="Resident memory over many requests")
    for header in ("", "requests", "first, MiB", "last, MiB", "bytes per request"):
        table.add_column(header, justify="left" if not header else "right")
    for growth in growths:
        first, last = (f"{growth.resident[part] / 2**20:,.2f}" for part in (_WARM_PARTS, -1))
        table.add_row(growth.kind, f"{growth.requests[-1]:,}", first, last, f"{growth.bytes_per_request:,.3f}")
    console.print(table)
    console.print(f"Command: {command_line('benchmarks.soak')}", style="dim", highlight=False, soft_wrap=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--requests", type=positive, default=1_000_000, help="requests of each kind (1000000)")
    parser.add_argument("--kinds", nargs="+", choices=_KINDS, default=list(_KINDS), help="which kinds (all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value there, too")
    parser.add_argument(
        "--limit",
        type=float,
        metavar="BYTES",
        help="end with status 1 when a kind grows by more per request than the floor and that",
    )
    add_common(parser)
    return parser


def excess(growths: Sequence[Growth]) -> dict[str, float]:
    """By how many bytes per request each kind grows beyond the floor, which counts as nothing where it shrinks."""
    floor = max([0.0, *(growth.bytes_per_request for growth in growths if growth.kind == "floor")])
    return {growth.kind: growth.bytes_per_request - floor for growth in growths if growth.kind != "floor"}


def _run(arguments: argparse.Namespace) -> list[Growth]:
    artifacts = Artifacts(arguments.build_directory.resolve())
    artifacts.build()
    pin(arguments.pin)
    with ExitStack() as stack:
        chosen = list(kinds(stack, artifacts, arguments.kinds))
        progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True, auto_refresh=False))
        task = progress.add_task("soaking", total=len(chosen) * _PARTS)
        return [
            soak(kind, arguments.requests, lambda: progress.update(task, advance=1, refresh=True)) for kind in chosen
        ]


def _document(growths: Sequence[Growth]) -> list[dict[str, Any]]:
    return [{**asdict(growth), "bytes_per_request": growth.bytes_per_request} for growth in growths]


def main(words: list[str] | None = None) -> int:
    """Soaks as the command line says; returns the exit status."""
    arguments = _parser().parse_args(words)
    try:
        growths = _run(arguments)
    except (BenchmarkError, ti.TritonError) as error:
        print(f"benchmarks.soak: {error}", file=sys.stderr)
        return 1
    _print(growths, Console())
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(_document(growths), indent=2) + "\n", encoding="utf-8")
    if arguments.limit is None:
        return 0
    too_much = {kind: more for kind, more in excess(growths).items() if more > arguments.limit}
    for kind, more in too_much.items():
        print(f"benchmarks.soak: '{kind}' grows by {more:.3f} bytes per request beyond the floor", file=sys.stderr)
    return 1 if too_much else 0


if __name__ == "__main__":
    raise SystemExit(main())
