"""This package's sides: a C++ model, and a Python function as a model, called from Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import triton_inprocess as ti

from . import async_calls, fresh_interpreters, many_calls, percentiles, sync_calls
from .measurement import LARGE_ELEMENTS, SMALL_ELEMENTS, THREADS, Call, Subject
from .repository import INPUT_NAME, LARGE_MODEL_NAME, MODEL_NAME, OUTPUT_NAME
from .target import FloatArray, Target

CPP_MODEL = "C++ model"


def own_models(server: ti.Server, repository: Path, backend_directory: Path) -> list[Subject]:
    """Both, on a running server of that repository."""
    small = np.arange(SMALL_ELEMENTS, dtype=np.float32)
    large = np.arange(LARGE_ELEMENTS, dtype=np.float32)
    cpp = Target(server.model(MODEL_NAME), small, INPUT_NAME, OUTPUT_NAME)
    cpp_large = Target(server.model(LARGE_MODEL_NAME), large, INPUT_NAME, OUTPUT_NAME)
    function = Target(_echo_model(server), small, "x", "y")
    function_large = replace(function, array=large)
    for target in (cpp, cpp_large, function, function_large):
        target.check()
    return [
        Subject(
            CPP_MODEL,
            {
                **_calls(cpp, cpp_large),
                "start": lambda _: (fresh_interpreters.start_seconds(repository, backend_directory),),
                "import": lambda _: (fresh_interpreters.import_seconds("triton_inprocess"),),
            },
        ),
        Subject("Python function", _calls(function, function_large)),
    ]


def _calls(small: Target, large: Target) -> dict[str, Call]:
    return {
        "result": lambda count: (sync_calls.result(small, count),),
        "iterator": lambda count: (sync_calls.iterator(small, count),),
        "keywords": lambda count: (sync_calls.keywords(small, count),),
        "submit": lambda count: (sync_calls.submit(small, count),),
        "async.1": lambda count: (async_calls.in_flight(small, 1, count),),
        "async.16": lambda count: (async_calls.in_flight(small, 16, count),),
        "async.64": lambda count: (async_calls.in_flight(small, 64, count),),
        "many": lambda count: (many_calls.many(small, 64, count),),
        "async_many": lambda count: (many_calls.async_many(small, 64, count),),
        "percentiles": lambda count: percentiles.tail_of(sync_calls.latencies(small, count)),
        "threads": lambda count: (_threads_beside_one(small, count),),
        "large": lambda count: (sync_calls.result(large, count),),
    }


def _threads_beside_one(target: Target, count: int) -> float:
    alone = sync_calls.result(target, count)
    return alone / sync_calls.in_threads(target, THREADS, count)


def _echo(x: FloatArray) -> FloatArray:
    return x


def _echo_model(server: ti.Server) -> ti.Model:
    return server.add_model(
        _echo,
        name="echo",
        inputs=[ti.TensorSpec("x", ti.DataType.FP32, (-1,))],
        outputs=[ti.TensorSpec("y", ti.DataType.FP32, (-1,))],
    )
