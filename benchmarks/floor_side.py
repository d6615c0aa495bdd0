"""The floor: a C++ program that does the same inferences on Triton's C API, with the same library and model.

Where there is nothing of that kind, it is what no program can avoid: a copy of the memory, the import of numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import fresh_interpreters, percentiles
from .artifacts import Artifacts
from .line_process import LineProcess
from .measurement import LARGE_ELEMENTS, THREADS, Call, Subject

StartFloor = Callable[[], LineProcess]


def floor_program(artifacts: Artifacts, runtime: Path, model_repository: Path) -> LineProcess:
    """Starts the program with the runtime at that path."""
    command = [artifacts.floor, runtime, artifacts.forwarder, model_repository, artifacts.backend_directory]
    return LineProcess("the floor program", command)


def floor_side(program: LineProcess, start_another: StartFloor) -> Subject:
    """The running program as a side; its start is measured with other ones."""

    def seconds(command: str) -> Call:
        return lambda count: (float(program.ask(f"{command} {count}")["seconds"]),)

    def tail(count: int) -> tuple[float, ...]:
        answer = program.ask(f"percentiles {count}")
        return percentiles.tail(answer["p50"], answer["p99"], answer["p999"])

    def threads_beside_one(count: int) -> tuple[float]:
        (alone,), (together,) = seconds("latency")(count), seconds(f"threads {THREADS}")(count)
        return (alone / together,)

    def start(_: int) -> tuple[float]:
        with start_another() as another:
            return (float(another.ready["start_seconds"]),)

    return Subject(
        "floor",
        {
            **dict.fromkeys(("result", "iterator", "keywords"), seconds("latency")),
            "submit": seconds("submit"),
            "async.1": seconds("rate 1"),
            "async.16": seconds("rate 16"),
            **dict.fromkeys(("async.64", "many", "async_many"), seconds("rate 64")),
            "percentiles": tail,
            "threads": threads_beside_one,
            "large": seconds(f"copy {LARGE_ELEMENTS * 4}"),
            "start": start,
            "import": lambda _: (fresh_interpreters.import_seconds("numpy"),),
        },
    )
