"""The compiled parts of the benchmarks: where they are, and how they are built."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .errors import BenchmarkError

PROJECT = Path(__file__).resolve().parent.parent
SOURCES = (PROJECT / "benchmarks", PROJECT / "cpp" / "abi", PROJECT / "cpp" / "runtime")
SOURCE_SUFFIXES = frozenset({".cpp", ".h", ".def", ".txt"})


@dataclass(frozen=True)
class Artifacts:
    """What CMake makes of `benchmarks/` in the build folder."""

    build_directory: Path

    @property
    def floor(self) -> Path:
        """The program that is the floor."""
        return self.build_directory / "floor"

    @property
    def forwarder(self) -> Path:
        """The library that puts Triton's C API into the global scope."""
        return self.build_directory / "libtriton_forwarder.so"

    @property
    def backend_directory(self) -> Path:
        """The folder of backends that holds the identity backend."""
        return self.build_directory / "backends"

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that must be there."""
        return self.floor, self.forwarder, self.backend_directory / "identity" / "libtriton_identity.so"

    @property
    def _stamp(self) -> Path:
        """Its time is that of the last build: CMake leaves alone the files that a changed source does not concern."""
        return self.build_directory / "built"

    def are_current(self) -> bool:
        """Whether all of them are there and were built from the sources as they are."""
        if not all(file.is_file() for file in (*self.files, self._stamp)):
            return False
        newest_source = max(
            source.stat().st_mtime
            for folder in SOURCES
            for source in folder.rglob("*")
            if source.suffix in SOURCE_SUFFIXES
        )
        return self._stamp.stat().st_mtime >= newest_source

    def build(self) -> None:
        """Builds what is missing or out of date; raises BenchmarkError with the reason or the compiler's output."""
        self.build_directory.mkdir(parents=True, exist_ok=True)
        with (self.build_directory / "lock").open("w") as lock:  # processes of the tests may come here at once
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.are_current():
                self._build()

    def _build(self) -> None:
        started = time.time()  # what is edited during the build is built next time
        cmake = _tool("cmake")
        configure = [cmake, "-S", str(PROJECT / "benchmarks"), "-B", str(self.build_directory), "-G", "Ninja"]
        _run([*configure, f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}"])
        _run([cmake, "--build", str(self.build_directory)])
        self._stamp.touch()
        os.utime(self._stamp, (started, started))


def _tool(name: str) -> str:
    """Finds a build tool beside this Python first, then on the PATH."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if found is None:
        raise BenchmarkError(
            f"'{name}' is needed to build the benchmarks and is not there; get it by: "
            f"{sys.executable} -m pip install cmake ninja"
        )
    return found


def _run(command: list[str]) -> None:
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except OSError as error:
        raise BenchmarkError(f"cannot run '{command[0]}': {error}") from error
    if result.returncode != 0:
        raise BenchmarkError(f"'{' '.join(command)}' failed:\n{result.stdout}")
