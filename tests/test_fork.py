"""A forked child has copies of the parent's objects, but none of Triton's threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import triton_inprocess as ti

PROGRAM = """
import os, sys, warnings
import numpy as np
import triton_inprocess as ti
warnings.simplefilter("ignore", DeprecationWarning)  # of forking a process with threads
server = ti.Server().start()
model = server.add_model(
    lambda x: x, name="echo", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))}
)
x = np.ones(2, np.float32)
def infer():
    return next(model.infer(inputs={"x": x})).outputs["y"].numpy().tolist()
infer()
child = os.fork()
if child == 0:
    calls = [infer, server.live, server.models, model.metadata]
    for call in calls:
        try:
            call()
        except ti.UnavailableError as error:
            assert "forked" in str(error), error
        else:
            print("no error from", call)
    CHILD_ENDS
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), infer(), server._files.root.is_dir())
"""


@pytest.mark.parametrize(("ending", "status"), [("sys.exit(0)", 0), ("sys.exit(5)", 5), ("os._exit(3)", 3)])
def test_a_child_gets_clear_errors_and_does_not_disturb_its_parent(
    runtime: ti.runtime.Runtime, ending: str, status: int
) -> None:
    program = PROGRAM.replace("CHILD_ENDS", ending)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"{status} [1.0, 1.0] True"], result.stderr


def test_an_iterator_of_the_parent_raises_in_the_child(runtime: ti.runtime.Runtime) -> None:
    program = """
import os, sys, time, warnings
import numpy as np
import triton_inprocess as ti
warnings.simplefilter("ignore", DeprecationWarning)
server = ti.Server(log_callback=lambda level, text: None, log_info=True).start()
def slow(x):
    time.sleep(0.5)
    return x
model = server.add_model(slow, name="slow", inputs={"x": (np.float32, (2,))}, outputs={"y": (np.float32, (2,))})
iterator = model.infer(inputs={"x": np.ones(2, np.float32)})
child = os.fork()
if child == 0:
    try:
        next(iterator)
    except ti.UnavailableError as error:
        print("forked" in str(error), flush=True)
    time.sleep(4)  # it has a copy of the log's pipe: the parent does not wait for it
    os._exit(0)
next(iterator)
begun = time.monotonic()
server.stop()
print(time.monotonic() - begun < 2)
os.kill(child, 9)
os.waitpid(child, 0)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["True", "True"], result.stderr
