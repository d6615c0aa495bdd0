"""Ctrl-C at the end of the interpreter, whenever it comes: every server is stopped all the same."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers_lifetime import NEVER_ON_STDERR, script_environment

pytestmark = pytest.mark.usefixtures("runtime")

# Hooks run in the opposite order: what is registered before the import is the last.
PROGRAM = """
import atexit, ctypes, os, signal, threading
servers = []

@atexit.register
def check():
    os.write(1, b"running: %r\\n" % [each.running for each in servers])

# Before that, in C, where nothing is interrupted: no interrupt comes any more. What is pending then ends the function
# that does nothing, or else it might end the check before its first line.
atexit.register(lambda: None)
atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)

import numpy as np
import triton_inprocess as ti
from triton_inprocess import _lifetime, _native

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGALRM, signal.default_int_handler)
opened = threading.Event()

def function(x):
    opened.wait(0.02)
    return x

for _ in range(2):
    server = ti.Server(gpu_metrics=False, exit_timeout=20).start()
    servers.append(server.capi)
    model_specs = {"x": (np.float32, (2,))}, {"y": (np.float32, (2,))}
    model = server.add_model(function, name="m", inputs=model_specs[0], outputs=model_specs[1])
    iterators = [model.infer(inputs={"x": np.ones(2, np.float32)}) for _ in range(3)]
    servers.append(server.capi)

# Whatever was registered since comes first, so that ours gets what is pending.
atexit.unregister(_native.end_interpreter)
atexit.register(_native.end_interpreter, _lifetime._stop_servers)
"""

PENDING = "atexit.register(getattr(ctypes.PyDLL(None), 'raise'), signal.SIGINT)"


def check(ending: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM + ending],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=script_environment(),
    ) as process:
        output, errors = process.communicate(timeout=60)
    # Ctrl-C in a hook is told about, and does not change the status.
    assert process.returncode in (0, -2), errors
    assert output == "running: [False, False, False, False]\n", errors
    for text in NEVER_ON_STDERR:
        if text != "Exception ignored":  # which is how a hook's exceptions are told
            assert text not in errors, errors


def test_an_interrupt_that_is_pending_when_the_hook_begins() -> None:
    check(PENDING)


def test_an_interrupt_while_the_hook_waits_for_a_request() -> None:
    check("""
import time
def slow(x):
    time.sleep(0.6)
    return x
slow_model = server.add_model(slow, name="slow", inputs=model_specs[0], outputs=model_specs[1])
unread = slow_model.infer(inputs={"x": np.ones(2, np.float32)})
atexit.register(signal.setitimer, signal.ITIMER_REAL, 0.2)
""")


def test_interrupts_without_end() -> None:
    check(f"{PENDING}; signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0002)")


def test_an_interrupt_at_any_time_of_the_exit() -> None:
    endings = [f"atexit.register(signal.setitimer, signal.ITIMER_REAL, {0.0001 + i * 0.005})" for i in range(12)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(check, endings))
