"""Triton's own server, a program, as clients over a network need it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .missing import MissingPeerError
from .settings import Settings

_START_TIMEOUT = 60.0
_STOP_TIMEOUT = 30.0
_POLL = 0.05
_TAIL = 2000


@dataclass(frozen=True)
class Ports:
    """Where it listens, on this machine only."""

    http: int
    grpc: int


def find_server_program(runtime: Path) -> Path | None:
    """The program that can be run and belongs to the runtime (a wheel or an installation)."""
    for folder in runtime.parents[:3]:
        for candidate in (folder / "pytriton" / "tritonserver" / "bin", folder / "bin"):
            program = candidate / "tritonserver"
            if program.is_file() and os.access(program, os.X_OK):  # an unpacked wheel has lost its permissions
                return program
    return None


def _server_program(settings: Settings) -> Path:
    """That of the settings, of the nvidia-pytriton that is installed here, or on the PATH."""
    if settings.server_program is not None:
        return Path(settings.server_program)
    wheel = importlib.util.find_spec("pytriton")
    if wheel is not None and wheel.origin is not None:
        found = find_server_program(Path(wheel.origin))
        if found is not None:
            return found
    on_path = shutil.which("tritonserver")
    if on_path is None:
        raise MissingPeerError(
            "no 'tritonserver' program is beside the runtime, in an installed nvidia-pytriton or on the PATH; "
            "give --tritonserver"
        )
    return Path(on_path)


@contextmanager
def running_server(settings: Settings, is_ready: Callable[[Ports], bool]) -> Iterator[Ports]:
    """Starts it and waits until it is ready; ends it at the end."""
    program = _server_program(settings)
    ports = Ports(*free_ports(2))
    command = [
        str(program),
        f"--model-repository={settings.repository}",
        f"--backend-directory={settings.backend_directory}",
        *("--http-address=127.0.0.1", f"--http-port={ports.http}"),
        *("--grpc-address=127.0.0.1", f"--grpc-port={ports.grpc}"),
        "--allow-metrics=false",
    ]
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment(program))
        try:
            _wait_until(lambda: is_ready(ports), process, log.fileno())
            yield ports
        finally:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_ports(number: int) -> list[int]:
    """Different ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _environment(program: Path) -> dict[str, str]:
    """In the wheel of nvidia-pytriton the program does not find its libraries by itself."""
    libraries = program.parents[3] / "nvidia_pytriton.libs" if len(program.parents) > 3 else None
    if libraries is None or not libraries.is_dir():
        return dict(os.environ)
    known = [path for path in (os.environ.get("LD_LIBRARY_PATH"),) if path]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join([*known, str(libraries)])}


def _wait_until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(Exception):  # clients raise errors of many kinds while nobody listens
            if ready():
                return
        time.sleep(_POLL)
    written = os.pread(log, 1 << 20, 0).decode(errors="replace")
    raise MissingPeerError(f"'{process.args!r}' did not get ready (status {process.poll()}):\n{written[-_TAIL:]}")
