"""Servers, requests, functions that are told, and memory, for the tests of triton_inprocess.capi."""

from __future__ import annotations

import ctypes
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from conftest import PROJECT, write_identity
from helpers_lifetime import Result, run_script, wait_until

import triton_inprocess as ti
from triton_inprocess import capi

CPU = capi.TRITONSERVER_MemoryType.CPU
FP32 = capi.TRITONSERVER_DataType.FP32
FINAL = capi.TRITONSERVER_ResponseCompleteFlag.FINAL
X = np.arange(8, dtype=np.float32)
PATIENCE = 20.0

Answer = tuple[Any, int]  # (response or None, flags)


class Gate:
    """A model's function that a test holds up: it waits, once it was called, until the gate is opened."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.calls = 0

    def __call__(self, INPUT0: Any) -> Any:
        self.calls += 1
        self.entered.release()
        assert self.opened.wait(PATIENCE)
        return INPUT0

    def close(self) -> None:
        """From now on requests are held up."""
        self.opened.clear()
        while self.entered.acquire(blocking=False):
            pass

    def wait(self) -> None:
        """Until the function is called."""
        assert self.entered.acquire(timeout=PATIENCE)


FLOATS: dict[str, Any] = {"inputs": {"INPUT0": (np.float32, (-1,))}, "outputs": {"OUTPUT0": (np.float32, (-1,))}}


class Host:
    """A running server with a model of each kind; all take INPUT0 and return OUTPUT0."""

    def __init__(self, server: ti.Server, repository: Path) -> None:
        self.server = server
        self.capi = server.capi
        self.repository = repository
        self.gate = Gate()
        self.gate.opened.set()
        server.add_model(self.gate, name="gated", **FLOATS)
        server.add_model(lambda INPUT0: INPUT0, name="function", **FLOATS)

    def request(self, model: str = "fast", array: Any = X) -> capi.TRITONSERVER_InferenceRequest:
        """A filled request, which does not keep the array alive."""
        return filled(self.capi, model, array)

    @contextmanager
    def in_flight(self, request: capi.TRITONSERVER_InferenceRequest) -> Iterator[None]:
        """Within it the request, one for the model `gated`, is in flight."""
        self.gate.close()
        try:
            self.capi.infer_async(request)
            self.gate.wait()
            yield
        finally:
            self.gate.opened.set()


@contextmanager
def running_host(backend: Path, repository: Path) -> Iterator[Host]:
    """Models: `fast`, `slow` (0.2 s), `fails`, `stream` (3 responses), `empty` (none) in C++; `gated`, `function`."""
    write_identity(repository, "fast")
    write_identity(repository, "slow", parameters={"delay_us": 200_000})
    write_identity(repository, "fails", decoupled=True, parameters={"fail_after": 0})
    write_identity(repository, "stream", decoupled=True, parameters={"responses": 3})
    write_identity(repository, "empty", decoupled=True, parameters={"responses": 0})
    server = ti.Server(model_repository=repository, backend_directory=backend)
    server.start()
    try:
        yield Host(server, repository)
    finally:
        server.stop()


def filled(
    server: capi.TRITONSERVER_Server, model: str = "fast", array: Any = X, name: str = "INPUT0"
) -> capi.TRITONSERVER_InferenceRequest:
    """A request with one FP32 input, which does not keep the array alive."""
    request = capi.TRITONSERVER_InferenceRequest(server, model, -1)
    fill(request, array, name)
    return request


def fill(request: capi.TRITONSERVER_InferenceRequest, array: Any = X, name: str = "INPUT0") -> None:
    """Add one FP32 input."""
    request.add_input(name, FP32, array.shape)
    request.append_input_data(name, array.ctypes.data, array.nbytes, CPU, 0)


def next_response(request: capi.TRITONSERVER_InferenceRequest) -> Answer:
    """(response or None, flags)."""
    future: Future[Answer] = Future()
    request.get_next_response(future)
    return future.result(PATIENCE)


def answer(server: capi.TRITONSERVER_Server, request: capi.TRITONSERVER_InferenceRequest) -> Any:
    """Send a request and return its only response."""
    server.infer_async(request)
    response, flags = next_response(request)
    assert flags == FINAL
    return response


def content(response: Any, index: int = 0, data_type: Any = np.float32) -> Any:
    """A copy of an output, read at the address that the response tells."""
    _, _, shape, address, byte_size, memory_type, *_ = response.output(index)
    assert memory_type is CPU
    return np.frombuffer(ctypes.string_at(address, byte_size), data_type).reshape(shape)


class Told:
    """Sets both callbacks of a request and notes what they are told."""

    def __init__(
        self,
        request: capi.TRITONSERVER_InferenceRequest,
        allocator: capi.TRITONSERVER_ResponseAllocator | None = None,
        allocator_user_object: Any = None,
    ) -> None:
        self.responses: queue.Queue[Answer] = queue.Queue()
        self.releases: queue.Queue[int] = queue.Queue()
        responses, releases = self.responses, self.releases
        request.set_response_callback(
            allocator, allocator_user_object, lambda response, flags, _: responses.put((response, flags)), None
        )
        request.set_release_callback(lambda _request, flags, _: releases.put(flags), None)

    def response(self) -> Any:
        """The next response, or None for none."""
        return self.responses.get(timeout=PATIENCE)[0]

    def release(self) -> int:
        """The flags of the next release."""
        return self.releases.get(timeout=PATIENCE)

    def complete(self) -> list[Any]:
        """All responses of one submission; the release was told, too."""
        got = []
        while True:
            response, flags = self.responses.get(timeout=PATIENCE)
            got.append(response)
            if flags & FINAL:
                break
        assert self.release() == capi.TRITONSERVER_RequestReleaseFlag.ALL
        return got

    def nothing_more(self) -> bool:
        """Whether nothing is left to be looked at."""
        return self.responses.empty() and self.releases.empty()


class Memory:
    """The functions of an allocator that gives memory of ctypes, and what they were called with."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.log: list[tuple[Any, ...]] = []
        self.allocated = 0
        self.released = 0

    def alloc(self, _allocator: Any, name: str, byte_size: int, *rest: Any) -> Any:
        block = ctypes.create_string_buffer(max(byte_size, 1))
        address = ctypes.addressof(block)
        self.blocks[address] = block
        self.log.append(("alloc", name, byte_size, *rest))
        self.allocated += 1
        return address, f"buffer of {name}", CPU, 0

    def release(self, _allocator: Any, address: int, *rest: Any) -> None:
        del self.blocks[address]
        self.log.append(("release", *rest))
        self.released += 1

    def allocator(self, start: Callable[..., Any] | None = None) -> capi.TRITONSERVER_ResponseAllocator:
        return capi.TRITONSERVER_ResponseAllocator(self.alloc, self.release, start)

    def wait_until_released(self) -> None:
        """Until each block was given back, which must be once."""
        wait_until(lambda: self.released == self.allocated, 5)
        assert not self.blocks


def explicit_options(repository: Path, backend: Path, exit_timeout: int = 30) -> capi.TRITONSERVER_ServerOptions:
    """Options of a quiet server that loads what it is told."""
    options = capi.TRITONSERVER_ServerOptions()
    options.set_model_repository_path(str(repository))
    options.set_backend_directory(str(backend))
    options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.EXPLICIT)
    options.set_exit_timeout(exit_timeout)
    options.set_log_info(False)
    options.set_log_warn(False)
    options.set_log_error(False)
    return options


_SCRIPT = f"""
import concurrent.futures, ctypes, pathlib, queue, sys
sys.path[:0] = [{str(PROJECT)!r}, {str(PROJECT / "tests")!r}]
from triton_inprocess import capi
from conftest import write_identity
from helpers_capi_inference import *
from helpers_capi_inference import CPU, FP32, FINAL, X, Gate, Memory, Told, answer, content, fill, filled, next_response
ti.runtime.load()
ti.runtime.open_forwarder()
BACKEND = pathlib.Path(os.environ["TEST_BACKEND"])
REPOSITORY = pathlib.Path(os.environ["TEST_REPOSITORY"])

def explicit(*models, exit_timeout=30):
    server = capi.TRITONSERVER_Server(explicit_options(REPOSITORY, BACKEND, exit_timeout))
    for model in models:
        server.load_model(model)
    return server
"""


def run_capi_script(
    source: str,
    backend: Path,
    repository: Path,
    models: Mapping[str, Mapping[str, Any]] | Sequence[str] = ("fast",),
    timeout: float = 60.0,
) -> Result:
    """Run a script in a process of its own; `explicit(*models)` starts a server with those models there."""
    for name in models:
        settings: Mapping[str, Any] = models[name] if isinstance(models, Mapping) else {}
        write_identity(repository, name, **settings)
    return run_script(
        _SCRIPT + source,
        environment={"TEST_BACKEND": str(backend), "TEST_REPOSITORY": str(repository)},
        timeout=timeout,
    )


def after_triton(kind: type[Exception]) -> type[ti.TritonError]:
    """The class of an exception that has gone through Triton, which before C API 1.25 knows no cancelled requests."""
    if issubclass(kind, ti.CancelledError) and not capi.available("TRITONSERVER_InferenceRequestCancel"):
        return ti.UnknownError
    return kind if issubclass(kind, ti.TritonError) else ti.InternalError


def seconds_of(action: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.monotonic()
    action()
    return time.monotonic() - began


__all__ = [
    "CPU",
    "FINAL",
    "FLOATS",
    "FP32",
    "PATIENCE",
    "Gate",
    "Host",
    "Memory",
    "Told",
    "X",
    "after_triton",
    "answer",
    "content",
    "explicit_options",
    "fill",
    "filled",
    "next_response",
    "run_capi_script",
    "running_host",
    "seconds_of",
]
