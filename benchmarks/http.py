"""`python -m benchmarks.http`: our HTTP endpoint beside the runtime's own `tritonserver`, same model, same client.

Each serves the C++ identity model from a process of its own; the client takes turns between them on one connection
each. The numbers are medians, and ratios of what was measured right after one another. A Python that has the package
tritonfrontend also serves by NVIDIA's front end (`engine="native"`), and by gRPC if it has `tritonclient[grpc]`, too.
"""

from __future__ import annotations

import argparse
import http.client
import importlib
import importlib.util
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
native = {"engine": "native", "grpc": 0, "allow_shared_memory": True} if sys.argv[3] == "native" else {}
with ti.Server(model_repository=sys.argv[1], backend_directory=sys.argv[2], gpu_metrics=False) as server:
    with server.serve(0, **native) as serving:
        print("serving", *serving.address, serving.grpc_url, flush=True)
        sys.stdin.read()
"""
_FRONT_END = "tritonfrontend"
_GRPC_CLIENT = "tritonclient.grpc"


@dataclass(frozen=True)
class Request:
    """What is sent, and how often in a repetition."""

    name: str
    elements: int
    binary: bool
    count: int
    most_times: float | None = None
    most_times_native: float | None = None
    grpc: bool = False

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
    Request("binary, 16 floats", 16, True, 1000, 3.0, 1.2),
    Request("binary, 64 MiB", 16 << 20, True, 3, 3.0, 1.2),
]
GRPC_REQUESTS = [
    Request("gRPC, 16 floats", 16, True, 1000, grpc=True),
    Request("gRPC, 64 MiB", 16 << 20, True, 3, grpc=True),
]


class Client:
    """One connection to a server, and another one by gRPC where that is served and there is a client for it."""

    def __init__(self, host: str, port: int, grpc_url: str | None = None) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=120)
        self._grpc: Any = None
        if grpc_url is not None and _has(_GRPC_CLIENT):
            self._grpc = importlib.import_module(_GRPC_CLIENT)
            self._grpc_connection = self._grpc.InferenceServerClient(grpc_url)

    def can(self, request: Request) -> bool:
        """Whether it can send this."""
        return not request.grpc or self._grpc is not None

    def nanoseconds(self, request: Request, repetition_count: int) -> float:
        """The time that one request takes."""
        if request.grpc:
            return self._grpc_nanoseconds(request, repetition_count)
        body, headers = request.message()
        started = time.perf_counter_ns()
        for _ in range(repetition_count):
            self._connection.request("POST", _PATH, body, headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.status != 200:
                raise BenchmarkError(f"status {response.status}: {content[:200]!r}")
        return (time.perf_counter_ns() - started) / repetition_count

    def _grpc_nanoseconds(self, request: Request, repetition_count: int) -> float:
        tensor = self._grpc.InferInput(INPUT_NAME, [request.elements], "FP32")
        tensor.set_data_from_numpy(np.arange(request.elements, dtype=np.float32))
        started = time.perf_counter_ns()
        for _ in range(repetition_count):
            self._grpc_connection.infer(MODEL_NAME, [tensor]).as_numpy(OUTPUT_NAME)
        return (time.perf_counter_ns() - started) / repetition_count


def _has(module: str) -> bool:
    """Whether there is a module, and, for a client of gRPC, what that needs."""
    needed = [module.partition(".")[0], module, *(["grpc"] if module == _GRPC_CLIENT else [])]
    return all(importlib.util.find_spec(each) is not None for each in needed)


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
def _ours(repository: Path, backends: Path, engine: str) -> Iterator[Client]:
    command = [sys.executable, "-c", _OURS, str(repository), str(backends), engine]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        # The front end prints lines of its own, too.
        line = next((each for each in process.stdout if each.startswith("serving ")), None)
        if line is None:
            raise BenchmarkError(f"the server of engine {engine!r} did not start")
        _, host, port, grpc_url = line.split()
        yield Client(host, int(port), None if grpc_url == "None" else grpc_url)


@contextmanager
def _native(runtime: ti.runtime.Runtime, repository: Path, backends: Path, folder: Path) -> Iterator[Client]:
    libraries = Path(runtime.path).parent
    program = libraries.parent / "pytriton" / "tritonserver" / "bin" / "tritonserver"
    if not program.exists():
        raise BenchmarkError(f"this runtime has no {program}")
    executable = Path(shutil.copy(program, folder / "tritonserver"))
    executable.chmod(0o700)  # the wheel has lost the permission
    with socket.socket() as free, socket.socket() as free_for_grpc:
        free.bind(("127.0.0.1", 0))
        free_for_grpc.bind(("127.0.0.1", 0))
        port, grpc_port = free.getsockname()[1], free_for_grpc.getsockname()[1]
    command = [
        str(executable),
        f"--model-repository={repository}",
        f"--backend-directory={backends}",
        f"--http-port={port}",
        "--http-address=127.0.0.1",
        f"--grpc-port={grpc_port}",
        "--grpc-address=127.0.0.1",
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
        yield Client("127.0.0.1", port, f"127.0.0.1:{grpc_port}")
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


def _measured(request: Request, sides: dict[str, Client], repetition_count: int) -> list[str]:
    """The cells of a row: times, then ratios, with the goal where it is missed."""
    able = {name: side for name, side in sides.items() if side.can(request)}
    rounds: list[dict[str, float]] = []
    for number in range(repetition_count + 1):
        times = {name: side.nanoseconds(request, request.count) / 1e6 for name, side in able.items()}
        if number > 0:  # the first warms up
            rounds.append(times)
    goals = {"ours": request.most_times, _FRONT_END: request.most_times_native}
    cells = [_shown(Summary.of([each[name] for each in rounds])) if name in able else "" for name in sides]
    for name in list(sides)[1:]:
        if name not in able:
            cells.append("")
            continue
        ratio = Summary.of([each[name] / each["tritonserver"] for each in rounds])
        goal = goals[name]
        missed = f" [bold red]goal {goal}: missed[/]" if goal is not None and ratio.median > goal else ""
        cells.append(_shown(ratio) + missed)
    return cells


def _shown(summary: Summary) -> str:
    return f"{summary.median:.3g} ({summary.minimum:.3g}-{summary.maximum:.3g})"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7, help="repetitions of each measurement (7)")
    arguments = parser.parse_args()
    runtime = ti.runtime.load()
    artifacts = Artifacts(PROJECT / "build" / "benchmarks")
    artifacts.build()
    table = Table(title="Milliseconds of a request, one at a time", show_lines=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        repository = folder / "models"
        _write_repository(repository)
        backends = artifacts.backend_directory
        sides = {"tritonserver": stack.enter_context(_native(runtime, repository, backends, folder))}
        sides["ours"] = stack.enter_context(_ours(repository, backends, "asgi"))
        if _has(_FRONT_END):
            sides[_FRONT_END] = stack.enter_context(_ours(repository, backends, "native"))
        for column in ("", *sides, *(f"{name} / tritonserver" for name in list(sides)[1:])):
            table.add_column(column)
        for request in [*REQUESTS, *GRPC_REQUESTS]:
            if sides["tritonserver"].can(request):
                table.add_row(request.name, *_measured(request, sides, arguments.repetitions))
    console = Console()
    console.print(table)
    console.print(f"Python {platform.python_version()}, {runtime.path}", highlight=False)


if __name__ == "__main__":
    main()
