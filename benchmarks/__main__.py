"""`python -m benchmarks`: this package and the floor, measured in turns.

The floor is a C++ program that does the same inferences on Triton's C API, with the same library and the same model.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

import triton_inprocess as ti
from triton_inprocess.runtime import Runtime

from .artifacts import PROJECT, Artifacts
from .errors import BenchmarkError
from .floor_process import FloorProcess
from .measurement import MEASUREMENTS, Subject
from .python_model import python_models
from .report import Environment, print_json, print_table
from .repository import write_repository
from .results import Results, measure


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    parser.add_argument("--repetitions", type=_positive, default=7, help="repetitions of each measurement (7)")
    parser.add_argument("--inferences", type=_positive, default=20_000, help="inferences per repetition (20000)")
    parser.add_argument(
        "--build-directory",
        type=Path,
        default=PROJECT / "build" / "benchmarks",
        help="where the floor program and the identity backend are built (build/benchmarks)",
    )
    pinning = parser.add_mutually_exclusive_group()
    pinning.add_argument("--pin", type=int, default=0, metavar="CORE", help="the core that both sides run on (0)")
    pinning.add_argument("--no-pin", action="store_const", dest="pin", const=None, help="leave the cores to the system")
    return parser.parse_args()


def _pin(core: int | None) -> None:
    """Binds this thread, and so every thread and process that it starts, to one core."""
    if core is None:
        return
    allowed = os.sched_getaffinity(0)
    if core not in allowed:
        raise BenchmarkError(f"--pin {core}: this process may use the cores {sorted(allowed)}")
    os.sched_setaffinity(0, {core})


def _run(arguments: argparse.Namespace, runtime: Runtime, artifacts: Artifacts, console: Console) -> Results:
    with ExitStack() as stack:
        repository = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triton-inprocess-benchmarks-")))
        write_repository(repository)
        floor = stack.enter_context(FloorProcess(artifacts, str(runtime.path), repository))
        server = stack.enter_context(
            ti.Server(model_repository=str(repository), backend_directory=str(artifacts.backend_directory))
        )
        subjects: list[Subject] = [floor, *python_models(server)]
        progress = stack.enter_context(Progress(console=console, transient=True))
        steps = len(subjects) * len(MEASUREMENTS) * (arguments.repetitions + 1)
        task = progress.add_task("measuring", total=steps)
        return measure(
            subjects,
            MEASUREMENTS,
            repetitions=arguments.repetitions,
            inferences=arguments.inferences,
            advance=lambda: progress.advance(task),
        )


def _benchmark(arguments: argparse.Namespace) -> None:
    console = Console(stderr=True)
    artifacts = Artifacts(arguments.build_directory.resolve())
    with console.status("building the floor program and the identity backend"):
        artifacts.build()
    _pin(arguments.pin)
    runtime = ti.runtime.load()
    ti.runtime.open_forwarder()  # the identity backend has no dependency on libtritonserver of its own
    results = _run(arguments, runtime, artifacts, console)
    environment = Environment(
        python=platform.python_version(),
        runtime=str(runtime.path),
        api_version=".".join(map(str, runtime.api_version)),
        pinned_to_core=arguments.pin,
        inferences=arguments.inferences,
        repetitions=arguments.repetitions,
    )
    if arguments.json:
        print_json(results, environment)
    else:
        print_table(results, environment, Console())


def main() -> int:
    """Runs the benchmarks as the command line says; returns the exit status."""
    try:
        _benchmark(_parse_arguments())
    except (BenchmarkError, ti.TritonError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
