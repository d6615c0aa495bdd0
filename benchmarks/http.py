"""`python -m benchmarks.http`: our HTTP endpoint beside the runtime's own `tritonserver`, same model, same client.

Both serve the C++ identity model from a process of their own; the client takes turns between them on one connection
each. The numbers are medians, and ratios of what was measured right after one another.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import triton_inprocess as ti

from .artifacts import PROJECT, Artifacts
from .errors import BenchmarkError
from .repository import INPUT_NAME, MODEL_NAME, OUTPUT_NAME
from .results import Summary

_PATH = f"/v2/models/{MODEL_NAME}/infer"
_LENGTH = "Inference-Header-Content-Length"
_START_SECONDS = 30
_OURS = """
import sys, triton_inprocess as ti
ti.runtime.open_forwarder()
with ti.Server(model_repository=sys.argv[1], backend_directory=sys.argv[2], gpu_metrics=False) as server:
    with server.serve(0, metrics=None) as serving:
        print(*serving.address, flush=True)
        sys.stdin.read()
"""


@dataclass(frozen=True)
class Request:
    """What is sent, and how often in a repetition."""

    name: str
    elements: int
    binary: bool
    count: int
    most_times: float | None = None

    def message(self) -> tuple[bytes, dict[str, str]]:
        """Body and headers."""
        array = np.arange(self.elements, dtype=np.float32)
        entry: dict[str, Any] = {"name": INPUT_NAME, "shape": [self.elements], "datatype": "FP32"}
        if not self.binary:
            return json.dumps({"inputs": [{**entry, "data": array.tolist()}]}).encode(), {}
        entry["parameters"] = {"binary_data_size": array.nbytes}
        outputs = [{"name": OUTPUT_NAME, "parameters": {"binary_data": True}}]
        head = json.dumps({"inputs": [entry], "outputs": outputs}).encode()
        return head + array.tobytes(), {_LENGTH: str(len(head))}


REQUESTS = [
    Request("JSON, 16 floats", 16, False, 1000),
    Request("binary, 16 floats", 16, True, 1000, 3.0),
    Request("binary, 64 MiB", 16 << 20, True, 3, 3.0),
]


class Client:
    """One connection to a server."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=120)

    def nanoseconds(self, request: Request, repetition_count: int) -> float:
        """The time that one request takes."""
        body, headers = request.message()
        started = time.perf_counter_ns()
        for _ in range(repetition_count):
            self._connection.request("POST", _PATH, body, headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.status != 200:
                raise BenchmarkError(f"status {response.status}: {content[:200]!r}")
        return (time.perf_counter_ns() - started) / repetition_count


def _write_repository(folder: Path) -> None:
    model = folder / MODEL_NAME
    (model / "1").mkdir(parents=True)
    dims = '[ { name: "%s" data_type: TYPE_FP32 dims: [ -1 ] } ]'
    (model / "config.pbtxt").write_text(
        f'name: "{MODEL_NAME}"\nbackend: "identity"\ninput {dims % INPUT_NAME}\noutput {dims % OUTPUT_NAME}\n'
        "instance_group [ { kind: KIND_CPU count: 1 } ]\n",
        encoding="utf-8",
    )


@contextmanager
def _ours(repository: Path, backends: Path) -> Iterator[Client]:
    command = [sys.executable, "-c", _OURS, str(repository), str(backends)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, port = process.stdout.readline().split()
        yield Client(host, int(port))


@contextmanager
def _native(runtime: ti.runtime.Runtime, repository: Path, backends: Path, folder: Path) -> Iterator[Client]:
    libraries = Path(runtime.path).parent
    program = libraries.parent / "pytriton" / "tritonserver" / "bin" / "tritonserver"
    if not program.exists():
        raise BenchmarkError(f"this runtime has no {program}")
    executable = Path(shutil.copy(program, folder / "tritonserver"))
    executable.chmod(0o700)  # the wheel has lost the permission
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(executable),
        f"--model-repository={repository}",
        f"--backend-directory={backends}",
        f"--http-port={port}",
        "--http-address=127.0.0.1",
        "--allow-grpc=false",
        "--allow-metrics=false",
    ]
    process = subprocess.Popen(
        command,
        env={**os.environ, "LD_LIBRARY_PATH": str(libraries)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield Client("127.0.0.1", port)
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("GET", f"/v2/models/{MODEL_NAME}/ready")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise BenchmarkError("tritonserver did not start")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7, help="repetitions of each measurement (7)")
    arguments = parser.parse_args()
    runtime = ti.runtime.load()
    artifacts = Artifacts(PROJECT / "build" / "benchmarks")
    artifacts.build()
    table = Table(title="HTTP: milliseconds of a request, one at a time", show_lines=True)
    for column in ("", "tritonserver", "ours", "ours / tritonserver", "goal"):
        table.add_column(column)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        repository = folder / "models"
        _write_repository(repository)
        native = stack.enter_context(_native(runtime, repository, artifacts.backend_directory, folder))
        ours = stack.enter_context(_ours(repository, artifacts.backend_directory))
        for request in REQUESTS:
            pairs = []
            for number in range(arguments.repetitions + 1):
                pair = native.nanoseconds(request, request.count), ours.nanoseconds(request, request.count)
                if number > 0:  # the first warms up
                    pairs.append(pair)
            theirs, mine = (Summary.of([each[side] / 1e6 for each in pairs]) for side in (0, 1))
            ratio = Summary.of([each[1] / each[0] for each in pairs])
            goal = f"x {request.most_times}" if request.most_times is not None else ""
            if request.most_times is not None and ratio.median > request.most_times:
                goal += " [bold red]missed[/]"
            shown = [f"{each.median:.3g} ({each.minimum:.3g}-{each.maximum:.3g})" for each in (theirs, mine, ratio)]
            table.add_row(request.name, *shown, goal)
    console = Console()
    console.print(table)
    console.print(f"Python {platform.python_version()}, {runtime.path}", highlight=False)


if __name__ == "__main__":
    main()
