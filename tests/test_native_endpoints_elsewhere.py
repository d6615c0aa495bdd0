"""gRPC and NVIDIA's own HTTP front end, tested by another Python of this machine where this one cannot."""

from __future__ import annotations

import importlib.util
import os
import subprocess

import pytest
from conftest import PROJECT

TESTS = PROJECT / "tests" / "test_native_endpoints.py"
NEEDED = ("triton_inprocess", "tritonfrontend", "tritonclient.grpc", "pytest", "hypothesis")


def python_with_front_end() -> str | None:
    """The first of the test Pythons that has what the tests need."""
    code = f"import importlib.util as u; assert all(u.find_spec(name) for name in {NEEDED})"
    for python in filter(None, os.environ.get("TRITON_INPROCESS_TEST_PYTHONS", "").split(os.pathsep)):
        if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
            return python
    return None


@pytest.mark.usefixtures("runtime")  # which is fetched by now
def test_the_native_endpoints_with_the_python_that_has_them() -> None:
    if importlib.util.find_spec("tritonfrontend") is not None:
        pytest.skip("test_native_endpoints runs here")
    python = python_with_front_end()
    if python is None:
        pytest.skip("none of TRITON_INPROCESS_TEST_PYTHONS has tritonfrontend, which is for CPython 3.12")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    result = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=PROJECT,
        timeout=110,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "skipped" not in result.stdout
    assert " passed" in result.stdout
