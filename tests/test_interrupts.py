"""Ctrl-C ends every blocking call of a server within 100 ms, and what goes on afterwards does no harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PROJECT, write_identity
from test_capi_server import WARM_UP

SLOW_US = 1_500_000

PRELUDE = """
import os, sys, threading, time, warnings
import numpy as np
import triton_inprocess as ti
from triton_inprocess import capi
ti.runtime.load()
ti.runtime.open_forwarder()
X = np.arange(3, dtype=np.float32)
SPECS = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (-1,))}}
EXPLICIT = ti.ModelControlMode.EXPLICIT
def make(**options):
    return ti.Server(model_repository=REPOSITORY, backend_directory=BACKENDS, gpu_metrics=False, **options)
def busy(server):
    entered, opened = threading.Event(), threading.Event()
    def wait(x):
        entered.set()
        opened.wait()
        return x
    model = server.add_model(wait, name="busy", **SPECS)
    iterator = model.infer({"x": X})
    assert entered.wait(10)
    return iterator, opened
def interrupted(call):
    print("now", flush=True)
    try:
        call()
    except KeyboardInterrupt:
        print("interrupted", time.monotonic(), flush=True)
    else:
        print("not interrupted", flush=True)
        os._exit(1)
def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
def loaded(server, name="slow"):
    until(lambda: server.model(name).ready())
    assert (next(server.model(name).infer({"INPUT0": X})).outputs["OUTPUT0"].numpy() == X).all()
"""

CALLS = {
    "start": """
server = make()
interrupted(server.start)
assert repr(server).endswith("not started>")
with make(startup_models=["fast"]) as other:  # another one is free to start
    loaded(other, "fast")
""",
    "start with progress": """
server = make()
interrupted(lambda: server.start(progress=lambda *_: None))
with make(startup_models=["fast"]) as other:
    loaded(other, "fast")
""",
    "start until it is ready": """
server = make(startup_models=["fast"])
server.ready = lambda: False
interrupted(lambda: server.start(wait_until_ready=True, polling_interval=30))
assert server.live()
server.stop()
""",
    "the C API's server": """
options = capi.TRITONSERVER_ServerOptions()
options.set_model_repository_path(REPOSITORY)
options.set_backend_directory(BACKENDS)
options.set_exit_on_error(False)
interrupted(lambda: capi.TRITONSERVER_Server(options))
""",
    "load": """
server = make(model_control_mode=EXPLICIT).start()
interrupted(lambda: server.load("slow"))
loaded(server)  # Triton goes on with it
server.stop()
""",
    "load with progress": """
server = make(model_control_mode=EXPLICIT).start()
interrupted(lambda: server.load("slow", progress=lambda *_: None))
loaded(server)
server.stop()
""",
    "load with a configuration": """
server = make(model_control_mode=EXPLICIT, startup_models=["fast"]).start()
config = server.model("fast").config()
config.update(name="slow", parameters={"delay_us": {"string_value": "1500000"}}, model_warmup=[{
    "name": "zeros", "batch_size": 1,
    "inputs": {"INPUT0": {"data_type": "TYPE_FP32", "dims": [4], "zero_data": True}},
}])
interrupted(lambda: server.load("slow", config=config))
loaded(server)
server.stop()
""",
    "stop": """
server = make(model_control_mode=EXPLICIT).start()
iterator, opened = busy(server)
interrupted(server.stop)
try:
    server.live()
except ti.UnavailableError:
    pass
opened.set()
server.stop()  # waits for what goes on
assert (next(iterator).outputs["y"].numpy() == X).all()
assert server._files is None
""",
    "stop, and the process ends": """
server = make(model_control_mode=EXPLICIT).start()
iterator, opened = busy(server)
interrupted(server.stop)
""",
    "stop during a load": """
server = make(model_control_mode=EXPLICIT).start()
thread = threading.Thread(target=server.load, args=("slow",), daemon=True)
thread.start()
until(lambda: server.models()["slow"].state == "LOADING")
interrupted(server.stop)
""",
    "the end of a block": """
def use():
    with make(model_control_mode=EXPLICIT) as server:
        kept.extend(busy(server))
kept = []
interrupted(use)
kept[1].set()
""",
    "unload with wait": """
server = make(model_control_mode=EXPLICIT).start()
iterator, opened = busy(server)
interrupted(lambda: server.unload("busy", wait_until_unloaded=True, polling_interval=30))
opened.set()
assert (next(iterator).outputs["y"].numpy() == X).all()
server.stop()
""",
    "unload during a load": """
server = make(model_control_mode=EXPLICIT, startup_models=["fast"]).start()
thread = threading.Thread(target=server.load, args=("slow",))
thread.start()
until(lambda: server.models()["slow"].state == "LOADING")
def unload():
    server.unload("fast", wait_until_unloaded=True)
    time.sleep(10)  # where the library does not block
interrupted(unload)
thread.join()
server.stop()
""",
    "add_model": """
server = make(model_control_mode=EXPLICIT).start()
native = server.capi
load = native.load_model
native.load_model = lambda name: (time.sleep(1), load(name))  # Triton is quick at it
interrupted(lambda: server.add_model(lambda x: x, name="new", **SPECS))
until(lambda: "new" not in server._functions and "new" not in server.models())  # it is cleaned up after
assert not server.model("new").ready()
del native.load_model
model = server.add_model(lambda x: x * 2, name="new", **SPECS)
assert (next(model.infer({"x": X})).outputs["y"].numpy() == X * 2).all()
server.stop()
""",
    "remove_model": """
server = make(model_control_mode=EXPLICIT).start()
iterator, opened = busy(server)
interrupted(lambda: server.remove_model("busy"))
opened.set()
list(iterator)
server.stop()
""",
    "poll": """
config = os.path.join(REPOSITORY, "slow", "config.pbtxt")
os.rename(config, config + ".away")
server = make(model_control_mode=ti.ModelControlMode.POLL, exit_on_error=False).start()
os.rename(config + ".away", config)
later = time.time_ns() + 10**9
os.utime(config, ns=(later, later))
interrupted(server.poll_model_repository)
loaded(server)
server.stop()
""",
    "infer": """
server = make(model_control_mode=EXPLICIT).start()
iterator, opened = busy(server)
interrupted(lambda: next(iterator))
opened.set()
assert (next(iterator).outputs["y"].numpy() == X).all()
server.stop()
""",
    "metrics": """
server = make(model_control_mode=EXPLICIT, startup_models=["fast"]).start()
def ask():
    while True:
        assert "nv_inference" in server.metrics()
interrupted(ask)
loaded(server, "fast")
server.stop()
""",
    "models": """
server = make(model_control_mode=EXPLICIT, startup_models=["fast"]).start()
def ask():
    while True:
        assert "fast" in server.models()
interrupted(ask)
server.stop()
""",
}


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_ends_the_call(identity_backend: Path, repository: Path, call: str) -> None:
    write_identity(repository, "slow", parameters={"delay_us": SLOW_US}, more=WARM_UP)
    write_identity(repository, "fast")
    source = f"REPOSITORY, BACKENDS = {str(repository)!r}, {str(identity_backend)!r}" + PRELUDE + CALLS[call]
    path = os.pathsep.join(filter(None, [str(PROJECT / "tests"), os.environ.get("PYTHONPATH", "")]))
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", source],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n", process.communicate()[1]
        time.sleep(0.3)  # for the call to block
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert output.startswith("interrupted "), errors
    assert float(output.split()[1]) - sent < 0.1
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    assert "left behind" not in errors
    assert "nanobind" not in errors
    # What goes on does not hold the process for the whole exit timeout.
    assert time.monotonic() - sent < 8


def test_a_second_interrupt_ends_the_process(identity_backend: Path, repository: Path) -> None:
    """Impatience: a load, then the end of the block that waits for it."""
    write_identity(repository, "slow", parameters={"delay_us": 20_000_000}, more=WARM_UP)
    source = f"REPOSITORY, BACKENDS = {str(repository)!r}, {str(identity_backend)!r}" + PRELUDE
    source += """
with make(model_control_mode=EXPLICIT) as server:
    print("now", flush=True)
    try:
        server.load("slow")
    finally:
        print("now", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == "now\n", process.communicate()[1]
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        _, errors = process.communicate(timeout=30)
    assert time.monotonic() - begin < 1, errors
    assert process.returncode == -signal.SIGINT, errors
    assert "Fatal" not in errors
