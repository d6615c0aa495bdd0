"""A stop with a time limit of its own."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, run_beside_tests, write_identity

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize("timeout", [None, 0, 0.0, 5, np.float32(5), float("inf")])
def test_an_idle_server_stops_at_once(server: ti.Server, timeout: Any) -> None:
    assert len(list(add_echo(server).infer({"x": X}))) == 1
    begin = time.monotonic()
    server.stop(timeout)
    assert time.monotonic() - begin < 0.5
    server.stop(timeout)


@pytest.mark.parametrize("exit_timeout", [0, 30])
def test_it_ends_as_soon_as_the_last_request_is_answered(
    start_identity: StartServer, repository: Path, exit_timeout: int
) -> None:
    write_identity(repository, parameters={"delay_us": 700_000})
    server = start_identity(exit_timeout=exit_timeout)
    iterator = server.model("identity").infer({"INPUT0": X})
    begin = time.monotonic()
    server.stop(timeout=10)
    assert 0.6 < time.monotonic() - begin < 1.2
    assert (next(iterator).outputs["OUTPUT0"].numpy() == X).all()


STUCK = """
import threading, time, warnings
import numpy as np
import triton_inprocess as ti
entered, opened = threading.Event(), threading.Event()
def wait(x):
    entered.set()
    opened.wait()
    return x
server = ti.Server(exit_timeout=30).start()
tensors = (np.float32, (2,))
model = server.add_model(wait, name="m", inputs={"x": tensors}, outputs={"y": tensors})
iterator = model.infer({"x": np.ones(2, np.float32)})
assert entered.wait(10)
"""


def test_a_server_that_does_not_end_in_time_is_left_behind() -> None:
    source = """
begin = time.monotonic()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    server.stop(timeout=0.7)
    server.stop()
seconds = time.monotonic() - begin
(warning,) = caught
assert "left behind" in str(warning.message), warning
assert warning.filename == "<string>", warning  # where stop was called
assert 0.6 < seconds < 1.5, seconds
opened.set()
print(next(iterator).outputs["y"].numpy().tolist())
"""
    assert run_beside_tests(STUCK + source).stdout == "[1.0, 1.0]\n"


def test_the_end_of_the_process_does_not_wait_again() -> None:
    begin = time.monotonic()
    run_beside_tests(STUCK + "warnings.simplefilter('ignore')\nserver.stop(0.5)\n")
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("timeout", "error", "message"),
    [
        ("1", TypeError, "timeout must be seconds or None as a number, not str"),
        (True, TypeError, "timeout must be .* not bool"),
        (-1, ValueError, "timeout must be seconds or None, 0 or more, not -1"),
        (float("nan"), ValueError, "not nan"),
    ],
)
def test_what_is_no_time(server: ti.Server, timeout: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        server.stop(timeout)
    assert server.live()


@pytest.fixture
def slow_load(start_identity: StartServer, repository: Path) -> Iterator[ti.Server]:
    """A server that another thread is loading a model on, for a second."""
    from test_capi_server import WARM_UP

    write_identity(repository, "slow", parameters={"delay_us": 1_000_000}, more=WARM_UP)
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    loading = threading.Event()
    thread = threading.Thread(target=lambda: server.load("slow", progress=lambda *_: loading.set()), name="a load")
    thread.start()
    assert loading.wait(10)
    yield server
    thread.join()


@pytest.mark.filterwarnings("ignore:Exception in thread")
def test_a_load_in_progress_is_waited_for(slow_load: ti.Server) -> None:
    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slow_load.stop(timeout=10)
    assert 0.5 < time.monotonic() - begin < 2
