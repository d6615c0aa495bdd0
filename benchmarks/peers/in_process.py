"""The existing in-process binding, `tritonserver`."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .client import Client, FloatArray, InferAsync
from .missing import MissingPeerError
from .settings import Settings


@contextmanager
def in_process(settings: Settings) -> Iterator[Client]:
    """Imports the binding and starts a server with it."""
    try:
        binding: Any = importlib.import_module(settings.binding)
    except (ImportError, OSError) as error:
        raise MissingPeerError(
            f"cannot import {settings.binding} ({error}); it comes with NVIDIA's containers"
        ) from error
    server = binding.Server(
        model_repository=settings.repository,
        backend_directory=settings.backend_directory,
        model_control_mode=binding.ModelControlMode.EXPLICIT,
    )
    server.start(wait_until_ready=True)
    try:
        _make_global()
        yield _client(server.load(settings.model_name), server.load(settings.large_model_name), settings)
    finally:
        server.stop()


def _client(model: Any, large_model: Any, settings: Settings) -> Client:
    input_name, output_name = settings.input_name, settings.output_name

    def infer_with(chosen: Any, array: FloatArray) -> Any:
        for response in chosen.infer(inputs={input_name: array}):
            answer = np.from_dlpack(response.outputs[output_name])
        return answer

    async def infer_async(array: FloatArray) -> Any:
        async for response in model.async_infer(inputs={input_name: array}):
            answer = np.from_dlpack(response.outputs[output_name])
        return answer

    async def in_loop(run: Callable[[InferAsync], Awaitable[float]]) -> float:
        return await run(infer_async)

    return Client(lambda array: infer_with(model, array), lambda array: infer_with(large_model, array), in_loop)


def _make_global() -> None:
    """The identity backend expects Triton's functions in the global scope: puts the library there that is loaded."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    for path in sorted({line.split()[-1] for line in maps.splitlines() if "/libtritonserver" in line}):
        ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
