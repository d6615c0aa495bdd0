"""`python -m benchmarks`: this package, the floor and what others offer, measured in turns.

The floor is a C++ program that does the same inferences on Triton's C API, with the same library and the same model.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

import triton_inprocess as ti
from triton_inprocess.runtime import Runtime

from .artifacts import Artifacts
from .environment import Environment, describe
from .errors import BenchmarkError
from .floor_side import floor_program, floor_side
from .markdown import as_markdown, write_between_markers
from .measurement import MEASUREMENTS, Measurement
from .options import add_common, pin, positive
from .own_models import CPP_MODEL, own_models
from .peer_sides import PeerSides
from .peers.server_program import find_server_program
from .peers.settings import Settings
from .peers.table import PEERS
from .plot import write_plot
from .report import as_json, print_environment, print_table
from .repository import INPUT_NAME, LARGE_MODEL_NAME, MODEL_NAME, OUTPUT_NAME, write_repository
from .results import Results, measure, steps

_WIDTH = 160  # of a table in a file


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value there, too ('-': to the output)")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the ratios there (needs matplotlib)")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="put a table between the markers of that document"
    )
    parser.add_argument("--repetitions", type=positive, default=7, help="repetitions of each measurement (7)")
    parser.add_argument("--inferences", type=positive, default=20_000, help="inferences per repetition (20000)")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="PATTERN",
        help=f"measure these alone: {', '.join(measurement.name for measurement in MEASUREMENTS)}; 'async*'",
    )
    parser.add_argument(
        "--peers", nargs="*", choices=tuple(PEERS), default=list(PEERS), help="which peers (all that are installed)"
    )
    parser.add_argument(
        "--peers-python",
        type=Path,
        default=Path(sys.executable),
        metavar="PYTHON",
        help="the interpreter in which the peers are installed (this one)",
    )
    parser.add_argument(
        "--tritonserver",
        type=Path,
        metavar="PROGRAM",
        help="Triton's server, for tritonclient (that of the runtime, of nvidia-pytriton, or on the PATH)",
    )
    add_common(parser)
    return parser


def _measurements(patterns: list[str] | None) -> list[Measurement]:
    if patterns is None:
        return list(MEASUREMENTS)
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(measurement.name, pattern) for measurement in MEASUREMENTS):
            names = ", ".join(measurement.name for measurement in MEASUREMENTS)
            raise BenchmarkError(f"--only {pattern}: there is no such measurement; expected one of {names}")
    return [each for each in MEASUREMENTS if any(fnmatch.fnmatchcase(each.name, pattern) for pattern in patterns)]


def _run(
    arguments: argparse.Namespace, runtime: Runtime, artifacts: Artifacts, console: Console
) -> tuple[Results, dict[str, str]]:
    measurements = _measurements(arguments.only)
    with ExitStack() as stack:
        repository = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triton-inprocess-benchmarks-")))
        write_repository(repository)
        program = stack.enter_context(floor_program(artifacts, runtime.path, repository))
        floor = floor_side(program, lambda: floor_program(artifacts, runtime.path, repository))
        backends = artifacts.backend_directory
        server = stack.enter_context(ti.Server(model_repository=repository, backend_directory=backends))
        own = own_models(server, repository, backends)
        peers = stack.enter_context(
            PeerSides(arguments.peers_python, _settings(arguments, runtime, artifacts, repository), arguments.peers)
        )
        subjects = [floor, *own, *peers.subjects]
        # Its own thread would be measured, too.
        progress = stack.enter_context(Progress(console=console, transient=True, auto_refresh=False))
        task = progress.add_task("measuring", total=steps(subjects, measurements, arguments.repetitions))
        results = measure(
            subjects,
            measurements,
            repetitions=arguments.repetitions,
            inferences=arguments.inferences,
            advance=lambda: progress.update(task, advance=1, refresh=True),
        )
    return results, peers.missing


def _settings(arguments: argparse.Namespace, runtime: Runtime, artifacts: Artifacts, repository: Path) -> Settings:
    program = arguments.tritonserver or find_server_program(Path(runtime.path))
    return Settings(
        repository=str(repository),
        backend_directory=str(artifacts.backend_directory),
        model_name=MODEL_NAME,
        large_model_name=LARGE_MODEL_NAME,
        input_name=INPUT_NAME,
        output_name=OUTPUT_NAME,
        server_program=None if program is None else str(program),
    )


def _report(arguments: argparse.Namespace, results: Results, environment: Environment) -> None:
    to_output = arguments.json == Path("-")
    console = Console(stderr=to_output, width=None if sys.stdout.isatty() else _WIDTH)
    cpp, function, *peers = results.subjects[1:]
    print_table(results, [cpp, function], "This package beside the C API (the floor)", console)
    if peers:
        print_table(results, [cpp, *peers], "What others offer", console)
    print_environment(environment, console)
    if to_output:
        print(as_json(results, environment), end="")
    elif arguments.json is not None:
        arguments.json.write_text(as_json(results, environment), encoding="utf-8")
    if arguments.markdown is not None:
        write_between_markers(arguments.markdown, as_markdown(results, environment, goals_of=CPP_MODEL))
    if arguments.plot is not None:
        write_plot(results, environment.command, arguments.plot)


def _benchmark(arguments: argparse.Namespace) -> None:
    console = Console(stderr=True)
    artifacts = Artifacts(arguments.build_directory.resolve())
    with console.status("building the floor program and the identity backend"):
        artifacts.build()
    pin(arguments.pin)
    runtime = ti.runtime.load()
    ti.runtime.open_forwarder()  # the identity backend has no dependency on libtritonserver of its own
    results, missing = _run(arguments, runtime, artifacts, console)
    environment = describe(
        runtime,
        module="benchmarks",
        pinned_to_core=arguments.pin,
        inferences=arguments.inferences,
        repetitions=arguments.repetitions,
        missing_peers=missing,
    )
    _report(arguments, results, environment)


def main(words: list[str] | None = None) -> int:
    """Runs the benchmarks as the command line says; returns the exit status."""
    try:
        _benchmark(_parser().parse_args(words))
    except (BenchmarkError, ti.TritonError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
