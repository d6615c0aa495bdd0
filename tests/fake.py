"""Fixtures for tests against the fake libtritonserver. A process has one runtime, so each runs an interpreter."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import fake_triton
import pytest
from conftest import run_beside_tests

__all__ = ["RunWithFake", "fake_library", "run_with_fake"]

RunWithFake = Callable[..., subprocess.CompletedProcess[str]]

PRELUDE = """
import faulthandler, os, threading, time
faulthandler.dump_traceback_later(50, exit=True)
import numpy as np
import triton_inprocess as ti
from fake_triton import Code, Drop, FakeTriton, Order

fake = FakeTriton(os.environ["TRITON_INPROCESS_RUNTIME"])
X = np.array([1, 2, 3], np.float32)
OBJECTS = ("InferenceRequest", "InferenceResponse", "Message", "Metrics", "Parameter", "Error", "ServerOptions")


def start(**options):
    server = ti.Server(**options).start()
    return server, server.model("identity")


def answer(model, **fields):
    (response,) = model.infer(inputs={"INPUT0": X}, **fields)
    return response.outputs["OUTPUT0"].numpy()


def eventually(condition):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.001)
    return False


def nothing_lives():
    return eventually(lambda: not any(fake.live(kind) for kind in OBJECTS))
"""


@pytest.fixture(scope="session")
def fake_library() -> Path:
    """The fake libtritonserver, built."""
    return fake_triton.build()


@pytest.fixture
def run_with_fake(fake_library: Path) -> RunWithFake:
    """Runs code in an interpreter whose runtime is the fake, or another library; it must end well.

    The code finds `fake` and the helpers of PRELUDE. Warnings are errors there.
    """

    def run(code: str, library: Path = fake_library, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return run_beside_tests(PRELUDE + textwrap.dedent(code), timeout=timeout, TRITON_INPROCESS_RUNTIME=str(library))

    return run
