"""Builds the libraries that stand in for others in tests."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["build_library"]

PROJECT = Path(__file__).resolve().parent.parent


def build_library(source: Path, name: str) -> Path:
    """Build what is missing or out of date of a CMake project, in the folder `build/<name>`; returns that folder."""
    folder = PROJECT / "build" / name
    folder.mkdir(parents=True, exist_ok=True)
    strict = "ON" if "TRITON_INPROCESS_WERROR=ON" in os.environ.get("SKBUILD_CMAKE_DEFINE", "") else "OFF"
    with (folder / "lock").open("w") as lock:  # test processes may come here at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        configure = [_tool("cmake"), "-S", str(source), "-B", str(folder), "-G", "Ninja"]
        configure += [
            f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
            f"-DTRITON_INPROCESS_WERROR={strict}",
        ]
        _run(configure)
        _run([_tool("cmake"), "--build", str(folder)])
    return folder


def _tool(name: str) -> str:
    """A build tool beside this Python first, then on the PATH."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise RuntimeError(f"'{name}' is needed to build the libraries of the tests: python -m pip install cmake ninja")
    return found


def _run(command: list[str]) -> None:
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"'{' '.join(command)}' failed:\n{result.stdout}")
