"""Scripts in interpreters of their own, where the end of a process, a crash or a leak does the tests no harm."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

import triton_inprocess as ti
from triton_inprocess import _native

FloatArray = npt.NDArray[np.float32]

PRELUDE = """
import asyncio, atexit, gc, os, signal, sys, threading, time, warnings, weakref
import numpy as np
import triton_inprocess as ti

SPECS = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}}
X = np.arange(4, dtype=np.float32)

def double(x):
    return x * 2

def start(function=double, **options):
    server = ti.Server(**options)
    server.start()
    return server, server.add_model(function, name="m", **SPECS)

def answer(model):
    (response,) = model.infer(inputs={"x": X})
    return response.outputs["y"].numpy()

def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.001)
"""

NEVER_ON_STDERR = (
    "nanobind",
    "Fatal Python error",
    "terminate called",
    "Exception ignored",
    "Segmentation fault",
    "free(): ",
    "corrupted",
)


@dataclass(frozen=True)
class Result:
    """How a script ended."""

    status: int
    output: str
    errors: str
    seconds: float

    def check(self, status: int = 0, within: float = 30.0) -> Result:
        """Asserts how it ended: with that status, in time, and without a word of leaks or crashes."""
        assert self.status == status, f"ended with status {self.status}\n{self.output}\n{self.errors}"
        for text in NEVER_ON_STDERR:
            assert text not in self.errors, self.errors
        assert self.seconds < within, f"took {self.seconds:.2f} s, expected less than {within} s\n{self.errors}"
        return self


@functools.cache
def package_folder() -> Path:
    """A folder to import the package from, and nothing else: a site-packages folder is of one Python only."""
    folder = Path(tempfile.mkdtemp(prefix="triton-inprocess-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    package = folder / "triton_inprocess"
    package.mkdir()
    for source in (Path(ti.__file__).parent, Path(str(_native.__file__)).parent):
        for file in source.iterdir():
            link = package / file.name
            if file.name != "__pycache__" and not link.exists():
                link.symlink_to(file.resolve())
    return folder


def script_environment(**changes: str) -> dict[str, str]:
    """The environment of a script."""
    environment = {**os.environ, **changes, "PYTHONPATH": str(package_folder()), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONWARNINGS", None)
    return environment


def start_script(
    source: str,
    python: str = sys.executable,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[str]:
    """Starts PRELUDE and `source` in a process of their own."""
    return subprocess.Popen(
        [python, *arguments, "-c", PRELUDE + source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=script_environment(**(environment or {})),
    )


def run_script(
    source: str,
    python: str = sys.executable,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> Result:
    """Runs PRELUDE and `source` to its end; one that never ends is killed, and ends with status -SIGKILL."""
    started = time.monotonic()
    with start_script(source, python, arguments, environment) as process:
        return finish(process, started, timeout)


def finish(process: subprocess.Popen[str], started: float, timeout: float = 60.0) -> Result:
    """Waits for the end of a started script."""
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        output, errors = process.communicate()
    return Result(process.returncode, output, errors, time.monotonic() - started)


@functools.cache
def interpreters() -> tuple[dict[str, str], dict[str, str]]:
    """(usable, unusable): the path of each version of Python, and the reason why a candidate cannot be tested."""
    listed = os.environ.get("TRITON_INPROCESS_TEST_PYTHONS", "").split(os.pathsep)
    found = sorted(str(path) for path in Path("/root/.pyenv/versions").glob("3.1*/bin/python3")) if _root() else []
    usable: dict[str, str] = {}
    unusable: dict[str, str] = {}
    for python in [sys.executable, *filter(None, listed), *found]:
        version, reason = _probe(python)
        if reason:
            unusable[python] = reason
        elif version not in usable:
            usable[version] = python
    # A version that is usable elsewhere is no loss.
    return usable, {python: reason for python, reason in unusable.items() if _version_in(python) not in usable}


def _root() -> bool:
    return os.access("/root", os.R_OK | os.X_OK)


def _version_in(python: str) -> str:
    parts = Path(python).parts
    return parts[parts.index("versions") + 1] if "versions" in parts else ""


def _probe(python: str) -> tuple[str, str]:
    """(version, "") for an interpreter that can import the package, else ("", why not)."""
    code = "import sys, numpy, nanobind_backend, triton_inprocess; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        result = subprocess.run(
            [python, "-c", code], capture_output=True, text=True, env=script_environment(), timeout=60, check=False
        )
    except OSError as error:
        return "", str(error)
    if result.returncode != 0:
        return "", result.stderr.strip().splitlines()[-1] if result.stderr.strip() else f"status {result.returncode}"
    return result.stdout.strip(), ""


@contextmanager
def serving(function: object, name: str = "m", **options: object) -> Iterator[tuple[ti.Server, ti.Model]]:
    """A server with one function of four floats; it is stopped, and that within two seconds."""
    server = ti.Server(ti.Options(**options))  # type: ignore[arg-type]
    server.start()
    try:
        yield server, add(server, function, name)
    finally:
        stop_in_time(server)


def add(server: ti.Server, function: object, name: str = "m", **arguments: object) -> ti.Model:
    """Adds a function that takes four floats as `x` and returns as many as `y`."""
    return server.add_model(
        function,  # type: ignore[arg-type]
        name=name,
        inputs={"x": (np.float32, (4,))},
        outputs={"y": (np.float32, (4,))},
        **arguments,  # type: ignore[arg-type]
    )


def stop_in_time(server: ti.Server, seconds: float = 2.0) -> None:
    """Stops the server and asserts how long that took."""
    started = time.monotonic()
    server.stop()
    assert time.monotonic() - started < seconds, "the stop took too long"


def longest_stop(exit_timeout: float) -> float:
    """The seconds after which a stop gives up: before C API 1.30 a library waits as long again, and cannot be told."""
    lacking = "TRITONSERVER_ServerSetExitTimeout" in ti.runtime.load().missing_functions
    return exit_timeout * 2 if lacking else exit_timeout


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Waits until the condition is true, and asserts that it becomes so in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.001)


def four(value: float = 0.0) -> FloatArray:
    """Four floats."""
    return np.arange(4, dtype=np.float32) + np.float32(value)


def ensemble_config(name: str, step: str) -> str:
    """The configuration of an ensemble of two steps, both the function model `step` (x to y)."""
    return f"""
name: "{name}"
platform: "ensemble"
max_batch_size: 0
input [ {{ name: "IN" data_type: TYPE_FP32 dims: [ 4 ] }} ]
output [ {{ name: "OUT" data_type: TYPE_FP32 dims: [ 4 ] }} ]
ensemble_scheduling {{
  step [
    {{ model_name: "{step}" model_version: -1
       input_map {{ key: "x" value: "IN" }} output_map {{ key: "y" value: "between" }} }},
    {{ model_name: "{step}" model_version: -1
       input_map {{ key: "x" value: "between" }} output_map {{ key: "y" value: "OUT" }} }}
  ]
}}
"""


def resident_bytes() -> int:
    """The memory of this process that is in RAM."""
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_descriptors() -> int:
    """How many file descriptors this process has."""
    return len(list(Path("/proc/self/fd").iterdir()))
