"""Objects that misbehave, and arguments beyond every measure: an error at most, never the end of the process."""

from __future__ import annotations

import collections
import contextlib
import copy
import itertools
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SET_INT_PARAMETER, if_supported

import triton_inprocess as ti
from triton_inprocess._private_files import PrivateFiles

X = np.arange(4, dtype=np.float32)


def add(server: ti.Server, function: Any, **arguments: Any) -> ti.Model:
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}, **arguments}
    return server.add_model(function, name="m", **specs)


MOST_DIMENSIONS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32


@pytest.mark.parametrize("rank", [MOST_DIMENSIONS + 1, 65, 300])
def test_more_dimensions_than_numpy_has(server: ti.Server, rank: int) -> None:
    buffer = ti.MemoryBuffer(X.ctypes.data, ti.MemoryType.CPU, 0, 4, X)
    tensor = ti.Tensor(ti.DataType.FP32, (1,) * rank, buffer)
    with pytest.raises(ti.UnsupportedError, match=f"{rank} dimensions"):
        tensor.numpy()
    spec = {"x": (np.float32, (1,) * rank)}
    model = add(server, lambda x: x, inputs=spec)
    with pytest.raises(ti.UnsupportedError, match=f"{rank} dimensions"):
        list(model.infer(inputs={"x": tensor}))


def test_as_many_dimensions_as_numpy_has(server: ti.Server) -> None:
    array = X.reshape((1,) * (MOST_DIMENSIONS - 1) + (4,))
    tensor = ti.Tensor.from_any(array)
    assert tensor.numpy().shape == array.shape
    assert tensor.numpy().ctypes.data == array.ctypes.data
    assert ti.Tensor.from_any(tensor.tolist()).shape == array.shape
    assert ti.Tensor.from_any(array, ti.DataType.FP64).numpy().tolist() == array.tolist()
    texts = np.array([b"a", b"b"], object).reshape((1,) * (MOST_DIMENSIONS - 1) + (2,))
    assert ti.Tensor.from_any(texts).numpy().tolist() == texts.tolist()
    model = add(server, lambda x: x, inputs={"x": (np.float32, array.shape)}, outputs={"y": (np.float32, array.shape)})
    (response,) = model.infer(inputs={"x": array})
    assert (response.outputs["y"].numpy() == array).all()


def within_itself(kind: str) -> Any:
    nested: list[Any] = []
    nested.append(nested if kind == "list" else (nested,))
    return nested


@pytest.mark.parametrize("kind", ["list", "tuple"])
@pytest.mark.parametrize("data_type", [None, ti.DataType.BYTES, ti.DataType.FP32])
def test_a_list_within_itself(server: ti.Server, kind: str, data_type: ti.DataType | None) -> None:
    with pytest.raises(ValueError, match="within itself"):
        ti.Tensor.from_any(within_itself(kind), data_type)
    model = add(server, lambda x: within_itself(kind))
    with pytest.raises(ValueError, match=r"'x'.*within itself"):
        list(model.infer(inputs={"x": within_itself(kind)}))
    with pytest.raises(ti.TritonError, match="within itself"):
        list(model.infer(inputs={"x": X}))


def test_a_sequence_within_itself() -> None:
    nested: collections.deque[Any] = collections.deque()
    nested.append(nested)
    with pytest.raises(ValueError, match="cannot make a tensor"):
        ti.Tensor.from_any(nested)


def test_a_list_deeper_than_numpy_has_dimensions() -> None:
    nested: list[Any] = [1.0]
    for _ in range(MOST_DIMENSIONS):
        nested = [nested]
    with pytest.raises(ValueError, match=f"nested more than {MOST_DIMENSIONS} deep"):
        ti.Tensor.from_any(nested)


def test_a_function_may_not_return_gpu_memory(server: ti.Server) -> None:
    buffer = ti.MemoryBuffer(0x7F0000000000, ti.MemoryType.GPU, 0, 16, None)
    model = add(server, lambda x: ti.Tensor(ti.DataType.FP32, (4,), buffer))
    with pytest.raises(ti.InternalError, match="'y' in GPU memory"):
        list(model.infer(inputs={"x": X}))


def test_a_key_that_is_no_text_and_changes_the_dict(server: ti.Server) -> None:
    result: dict[Any, Any] = {}

    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            result.clear()
            return "hostile"

    class Key(metaclass=Meta):
        pass

    def hostile(x: np.ndarray) -> dict[Any, Any]:
        result[Key()] = x
        return result

    model = add(server, hostile)
    for _ in range(100):
        with pytest.raises(ti.InternalError, match="expected str"):
            list(model.infer(inputs={"x": X}))


def test_a_surrogate_in_a_key_is_shown_escaped(server: ti.Server) -> None:
    model = add(server, lambda x: {"\ud800": x})
    with pytest.raises(ti.InternalError, match="ud800"):
        list(model.infer(inputs={"x": X}))


def test_values_that_change_their_dict_while_they_are_read(server: ti.Server) -> None:
    model = add(server, lambda x: x)

    class Hostile:
        def __init__(self, owner: dict[str, Any]) -> None:
            self.owner = owner

        @property
        def __class__(self) -> type:  # type: ignore[override]
            self.owner.clear()
            return int

        def __index__(self) -> int:
            self.owner.clear()
            return 1

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            self.owner.clear()
            return X

    for _ in range(500):
        parameters: dict[str, Any] = {}
        parameters.update(a=Hostile(parameters), b=1)
        with if_supported(SET_INT_PARAMETER):
            list(model.infer(inputs={"x": X}, parameters=parameters))
        inputs: dict[str, Any] = {}
        inputs["x"] = Hostile(inputs)
        list(model.infer(inputs=inputs))


def test_a_server_cannot_be_copied(server: ti.Server) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            duplicate(server)
    assert server.live()


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_tensor_needs_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="name of a TensorSpec"):
        ti.TensorSpec(name, np.float32, (1,))


@pytest.mark.parametrize("before", ["touch_version", "write_config"])
def test_a_stop_in_the_midst_of_adding_a_model_is_no_fault_of_the_disk(
    server: ti.Server, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    files = server._files
    assert files is not None
    original = getattr(PrivateFiles, before)

    def stop_first(*arguments: Any, **named: Any) -> Any:  # as a signal handler would, on the same thread
        server.stop()
        return original(*arguments, **named)

    monkeypatch.setattr(PrivateFiles, before, stop_first)
    with pytest.raises(ti.UnavailableError, match="stopped"):
        add(server, lambda x: x)
    assert not Path(files.root).exists()


def test_a_signal_handler_may_stop_the_server_while_a_model_is_added(runtime: ti.runtime.Runtime) -> None:
    program = """
import signal, sys, threading, time, os
import numpy as np
import triton_inprocess as ti
from triton_inprocess._private_files import PrivateFiles
server = ti.Server(exit_timeout=20).start()
signal.signal(signal.SIGALRM, lambda *_: server.stop())
signal.setitimer(signal.ITIMER_REAL, 0.05)
begun = time.monotonic()
try:
    while True:
        server.add_model(lambda x: x, name="m", inputs={"x": (np.float32, (1,))}, outputs={"y": (np.float32, (1,))})
        server.remove_model("m")
except ti.TritonError as error:
    print(type(error).__name__, time.monotonic() - begun < 5)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[1] == "True", result.stdout + result.stderr


def test_a_stop_at_any_line_of_adding_and_removing_a_model(runtime: ti.runtime.Runtime) -> None:
    """As a signal handler may stop the server on this very thread, between any two lines."""
    for line in itertools.count():
        with ti.Server() as server:
            if not stopped_at(line, server):
                break
            with pytest.raises(ti.UnavailableError, match="stopped"):
                add(server, lambda x: x)
        assert not server._functions
    assert line > 20


def stopped_at(line: int, server: ti.Server) -> bool:
    """Add and remove a model, and stop the server before that line of it; false if there are fewer lines."""
    remaining = line
    codes = {each.__code__ for each in (ti.Server.add_model, ti.Server._add, ti.Server.remove_model)}

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal remaining
        if event == "line" and frame.f_code in codes:
            remaining -= 1
            if remaining == -1:
                server.stop()
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.suppress(ti.UnavailableError):
            add(server, lambda x: x)
            server.remove_model("m")
    finally:
        sys.settrace(previous)
    return remaining < 0
