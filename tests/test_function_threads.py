"""Python on Triton's threads: what a function may do there, and what must not bring the process down."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import triton_inprocess as ti

SPECS = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}}
X = np.arange(4, dtype=np.float32)


def run(program: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    prelude = """
import sys, time, threading
import numpy as np
import triton_inprocess as ti
SPECS = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}}
X = np.arange(4, dtype=np.float32)
"""
    return subprocess.run(
        [sys.executable, "-c", prelude + program], capture_output=True, text=True, check=False, timeout=timeout
    )


def test_a_sub_interpreter_does_not_confuse_who_has_the_gil(runtime: ti.runtime.Runtime) -> None:
    program = """
import ctypes
# As an embedding program does: CPython's own check of the GIL says yes to everybody from then on.
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
ctypes.pythonapi.Py_NewInterpreter.restype = ctypes.c_void_p
ctypes.pythonapi.PyThreadState_Swap.argtypes = [ctypes.c_void_p]
main = ctypes.pythonapi.PyThreadState_Get()
ctypes.pythonapi.Py_NewInterpreter()
ctypes.pythonapi.PyThreadState_Swap(main)
with ti.Server() as server:
    model = server.add_model(lambda x: x * 2, name="m", **SPECS)
    for _ in range(2000):
        (response,) = model.infer(inputs={"x": X.copy()})
        assert (response.outputs["y"].numpy() == X * 2).all()
print("fine")
import os
sys.stdout.flush()
os._exit(0)  # ending the interpreters is the embedding program's affair
"""
    result = run(program)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("Array()", id="an object with __array__"),
        pytest.param("[float(each) for each in x]", id="a list"),
        pytest.param("{'y': x * 2}", id="a dict"),
        pytest.param("fail()", id="an exception"),
    ],
)
def test_the_interpreter_may_end_while_a_result_is_converted(runtime: ti.runtime.Runtime, value: str) -> None:
    program = f"""
class Array:
    def __array__(self, dtype=None, copy=None):
        for _ in range(100):
            time.sleep(0)
        return X
class Slow(Exception):
    def __str__(self):
        for _ in range(100):
            time.sleep(0)
        return "slow"
def fail():
    raise Slow
server = ti.Server(exit_timeout=0).start()
model = server.add_model(lambda x: {value}, name="m", instances=4, **SPECS)
def hammer():
    while True:
        try:
            list(model.infer(inputs={{"x": X}}))
        except ti.TritonError as error:
            if "stop" in str(error):
                return
for _ in range(4):
    threading.Thread(target=hammer, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(3):
        result = run(program)
        assert result.returncode == 0, result.stderr
        assert "Fatal" not in result.stderr


def test_a_function_cannot_stop_its_server(runtime: ti.runtime.Runtime) -> None:
    with ti.Server() as server:

        def stop(x: np.ndarray) -> np.ndarray:
            server.stop()
            return x

        model = server.add_model(stop, name="m", **SPECS)
        started = time.monotonic()
        with pytest.raises(ti.UnavailableError, match="'m' cannot stop its server"):
            list(model.infer(inputs={"x": X}))
        assert time.monotonic() - started < 5
        assert server.live()


def test_a_function_cannot_remove_its_own_model_but_another(runtime: ti.runtime.Runtime) -> None:
    with ti.Server() as server:
        server.add_model(lambda x: x, name="other", **SPECS)
        names = iter(["m", "other"])

        def remove(x: np.ndarray) -> np.ndarray:
            server.remove_model(next(names))
            return x

        model = server.add_model(remove, name="m", **SPECS)
        with pytest.raises(ti.UnavailableError, match="'m' cannot be removed by its own function"):
            list(model.infer(inputs={"x": X}))
        list(model.infer(inputs={"x": X}))
        with pytest.raises(ti.TritonError):
            list(server.model("other").infer(inputs={"x": X}))


def test_a_server_is_started_once_however_many_threads_start_it(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server()
    outcomes: list[str] = []

    def start() -> None:
        try:
            server.start()
            outcomes.append("started")
        except ti.InvalidArgumentError:
            outcomes.append("refused")

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.stop()
    assert sorted(outcomes) == ["refused", "refused", "started"]


def test_a_replaced_extension_is_an_error_not_a_crash(runtime: ti.runtime.Runtime, tmp_path: object) -> None:
    program = """
from triton_inprocess import _extension_file
_extension_file._loaded = (0, 0)  # as if another file had taken the name since
try:
    ti.Server().start()
except ti.InternalError as error:
    print("restart the process" in str(error))
"""
    result = run(program)
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr
