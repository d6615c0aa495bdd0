"""What the command lines of the benchmarks have in common."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from .artifacts import PROJECT
from .errors import BenchmarkError


def positive(text: str) -> int:
    """A whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not at least 1")
    return number


def add_common(parser: argparse.ArgumentParser) -> None:
    """Where things are built, and which core everything runs on."""
    parser.add_argument(
        "--build-directory",
        type=Path,
        default=PROJECT / "build" / "benchmarks",
        help="where the floor program and the identity backend are built (build/benchmarks)",
    )
    pinning = parser.add_mutually_exclusive_group()
    pinning.add_argument("--pin", type=int, default=0, metavar="CPU", help="the core that all sides run on (0)")
    pinning.add_argument("--no-pin", action="store_const", dest="pin", const=None, help="leave the cores to the system")


def pin(core: int | None) -> None:
    """Binds this thread, and so every thread and process that it starts, to one core."""
    if core is None:
        return
    allowed = os.sched_getaffinity(0)
    if core not in allowed:
        raise BenchmarkError(f"--pin {core}: this process may use the cores {sorted(allowed)}")
    os.sched_setaffinity(0, {core})
